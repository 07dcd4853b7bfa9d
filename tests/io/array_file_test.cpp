#include "io/array_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/error.hpp"
#include "io/npy.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

using Values = std::vector<double>;

std::string case_file(const std::string& name) { return test_file("cases/files/" + name); }

std::string complaint(const std::string& source, ErrorKind kind, const ReadOptions& options = {}) {
  try {
    read_array(source, options);
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("array file: the extension tells the format and then the content does") {
  const Scratch scratch;
  const std::string npy = content(case_file("same.npy"));
  const Values values{1, 2, 3, 4};
  CHECK(read_array(scratch.file("a.NPY", npy)).values == values);
  CHECK(read_array(scratch.file("npy", npy)).values == values);
  CHECK(read_array(scratch.file("csv.txt", " 1,2\n3,4\n")).values == values);
  CHECK(read_array(scratch.file("json", " [[1,2],[3,4]]")).values == values);
  CHECK(read_array(scratch.file("tabs.tsv", "1\t2\n3\t4\n")).values == values);
  CHECK(read_array(scratch.file("model", content(case_file("bf16.safetensors")))).values ==
        Values{1.0, 3.140625, -1.0});
  CHECK(read_array(scratch.file("b.dat", "1;2\n3;4\n"), {ArrayFormat::csv, {.delimiter = ';'}}).values ==
        values);
  for (const std::string bytes : {"", "abc", "PK\x03\x04", "{}"}) {
    const std::string path = scratch.file("unknown.bin", bytes);
    CHECK(complaint(path, ErrorKind::data) ==
          path +
              ": neither its extension nor its content tells the format; known are "
              "npy, csv, tsv, json, safetensors (--input-format chooses)");
  }
}

TEST_CASE("array file: a file that cannot be read is named with the reason") {
  const Scratch scratch;
  CHECK(complaint("no-such-file.npy", ErrorKind::io) ==
        "cannot read no-such-file.npy: No such file or directory");
  CHECK(complaint(scratch.folder.string(), ErrorKind::io) ==
        "cannot read " + scratch.folder.string() + ": it is a folder");
  CHECK(complaint("", ErrorKind::io) == "cannot read '': the file name is empty");
  CHECK(complaint("-", ErrorKind::usage) ==
        "standard input needs --input-format; known are npy, csv, tsv, json, safetensors");
}

TEST_CASE("array file: FILE:NAME picks a tensor") {
  const Scratch scratch;
  const std::string two = case_file("two.safetensors");
  CHECK(read_array(two + ":b").values == Values{0.5, -0.25});
  CHECK(read_array(two + ":a").shape == Shape{2, 2});
  CHECK(complaint(two + ":c", ErrorKind::data) == two + ": there is no tensor 'c'; there are 2: 'b', 'a'");
  CHECK(complaint(two, ErrorKind::data) == two + ": it holds 2 tensors; pick one with FILE:NAME: 'b', 'a'");
  CHECK(read_tensors(two).tensors.size() == 2);
  const std::string none = scratch.file("none.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  CHECK(complaint(none, ErrorKind::data) == none + ": there is no tensor in it");
  const std::string npy = case_file("same.npy");
  CHECK(complaint(npy + ":a", ErrorKind::data) ==
        npy + ": it holds one array without a name; ':a' picks a tensor of a .safetensors file only");
  const SafeTensors content{{{"x:y", to_typed(Array{{1}, {7}})}}, {}};
  std::string bytes;
  write_safetensors(content, [&](std::string_view piece) { bytes += piece; });
  CHECK(read_array(scratch.file("a:b.safetensors", bytes) + ":x:y").values == Values{7});
}

TEST_CASE("array file: standard input is read to its end") {
  const Scratch scratch;
  const std::string path = scratch.file("input", std::string("1,2\n3,4\n"));
  const int saved = ::dup(STDIN_FILENO);
  const int file = ::open(path.c_str(), O_RDONLY);
  REQUIRE(::dup2(file, STDIN_FILENO) == STDIN_FILENO);
  const Array array = read_array("-", {ArrayFormat::csv, {}});
  CHECK(complaint("-", ErrorKind::data, {ArrayFormat::csv, {}}) ==
        "standard input: the file is empty; lines of numbers were expected");
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ::close(file);
  CHECK(array.values == Values{1, 2, 3, 4});
}

TEST_CASE("array file: a stream of unknown length is read to its end") {
  const Scratch scratch;
  const std::string path = scratch.path("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "1,2\n";
  std::thread writer([&] { std::ofstream(path) << text; });
  const Array array = read_array(path, {ArrayFormat::csv, {}});
  writer.join();
  CHECK(array.shape == Shape{200000, 2});
  CHECK(array.values.back() == 2);
}

TEST_CASE("array file: a large file is mapped and not copied") {
  const Scratch scratch;
  const std::string path = scratch.path("large.npy");
  constexpr std::size_t length = std::size_t{1} << 25;
  write_array(path, {DType::u8, {length}, false, false, own_bytes(std::string(length, '\1'))});
  // With so little memory for data a copy would fail; a mapped file does not count.
  struct rlimit old_limit {};
  REQUIRE(::getrlimit(RLIMIT_DATA, &old_limit) == 0);
  struct rlimit small_limit = old_limit;
  small_limit.rlim_cur = 1 << 20;
  REQUIRE(::setrlimit(RLIMIT_DATA, &small_limit) == 0);
  std::string problem;
  try {
    const TypedArray array = read_typed_array(path);
    if (array.content.bytes.size() != length || array.content.bytes.back() != '\1') problem = "wrong bytes";
  } catch (const std::exception& error) {
    problem = error.what();
  }
  ::setrlimit(RLIMIT_DATA, &old_limit);
  CHECK(problem.empty());
}

TEST_CASE("array file: a large file that is shortened while it is read is an error and no crash") {
  const Scratch scratch;
  const std::string path = scratch.path("large.npy");
  constexpr std::size_t length = std::size_t{1} << 25;
  write_array(path, {DType::u8, {length}, false, false, own_bytes(std::string(length, '\1'))});
  const TypedArray array = read_typed_array(path);
  std::filesystem::resize_file(path, length / 2);
  CHECK_THROWS_WITH_AS(for_each_piece(array, [](std::string_view) {}),
                       ("cannot read " + path + ": it was shortened while it was read").c_str(), Error);
}

TEST_CASE("array file: an array is written in the format of the extension") {
  const Scratch scratch;
  const Array array{{2, 2}, {0.1, -0.0, 1e300, 4}};
  for (const char* name : {"a.npy", "a.csv", "a.tsv", "a.json", "a.safetensors"}) {
    CAPTURE(name);
    write_array(scratch.path(name), view_of(array));
    CHECK(read_array(scratch.path(name)).shape == array.shape);
    CHECK(read_array(scratch.path(name)).values == array.values);
  }
  CHECK(content(scratch.path("a.csv")) == "0.1,-0.0\n1e+300,4\n");
  CHECK(content(scratch.path("a.tsv")) == "0.1\t-0.0\n1e+300\t4\n");
  CHECK(content(scratch.path("a.json")) == "[[0.1, -0.0], [1e+300, 4]]\n");
  CHECK(read_array(scratch.path("a.safetensors:data")).values == array.values);
  write_array(scratch.path("b.out"), view_of(array), ArrayFormat::json);
  CHECK(content(scratch.path("b.out")) == content(scratch.path("a.json")));
  CHECK_THROWS_WITH_AS(
      write_array("a.xyz", view_of(array)),
      "--output a.xyz: its extension tells no known format; known are npy, csv, tsv, json, safetensors "
      "(--format chooses)",
      Error);
  CHECK_THROWS_WITH_AS(write_array("-", view_of(array)),
                       "standard output needs --format; known are npy, csv, tsv, json, safetensors", Error);
}
