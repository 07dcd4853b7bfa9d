#include "io/convert.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "core/error.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

std::string case_file(const std::string& name) { return test_file("cases/files/" + name); }

void convert_file(const std::string& source, const std::string& output) {
  write_output(output, conversion(source, output_format(output, {})));
}

std::string bits(const std::string& path) { return std::string(read_typed_array(path).content.bytes); }

}  // namespace

TEST_CASE("convert: doubles pass through every pair of formats bit for bit") {
  const Scratch scratch;
  const std::string names[] = {"x.npy", "x.csv", "x.tsv", "x.json", "x.safetensors"};
  const std::string digits = case_file("digits.csv");
  const std::string expected = bits(digits);
  for (const std::string& first : names) {
    for (const std::string& second : names) {
      CAPTURE(first);
      CAPTURE(second);
      convert_file(digits, scratch.path("1" + first));
      convert_file(scratch.path("1" + first), scratch.path("2" + second));
      CHECK(bits(scratch.path("2" + second)) == expected);
    }
  }
}

TEST_CASE("convert: element types are kept where the format has them") {
  const Scratch scratch;
  for (const char* name :
       {"a_half.npy", "a_int64.npy", "a_bool.npy", "b_bytes.npy", "a_empty.npy", "a_scalar.npy"}) {
    CAPTURE(name);
    convert_file(case_file(name), scratch.path("m.safetensors"));
    convert_file(scratch.path("m.safetensors"), scratch.path("back.npy"));
    CHECK(content(scratch.path("back.npy")) == content(case_file(name)));
  }
  convert_file(case_file("a_int64.npy"), scratch.path("whole.json"));
  CHECK(content(scratch.path("whole.json")) == "[9007199254740993, -1]\n");
  convert_file(scratch.path("whole.json"), scratch.path("whole.npy"));
  CHECK(content(scratch.path("whole.npy")) == content(case_file("a_int64.npy")));
  convert_file(case_file("bf16.safetensors"), scratch.path("wide.npy"));
  CHECK(read_typed_array(scratch.path("wide.npy")).dtype == DType::f32);
}

TEST_CASE("convert: layout and byte order become row-major and little endian") {
  const Scratch scratch;
  convert_file(case_file("a_fortran.npy"), scratch.path("a.npy"));
  CHECK_FALSE(read_typed_array(scratch.path("a.npy")).fortran_order);
  CHECK(read_array(scratch.path("a.npy")).values == std::vector<double>{1, 2, 3, 4, 5, 6});
  convert_file(case_file("a_bigendian.npy"), scratch.path("b.csv"));
  CHECK(content(scratch.path("b.csv")) == "1.5,-2,0.001\n");
}

TEST_CASE("convert: a single array is named after its file and all tensors and metadata are kept") {
  const Scratch scratch;
  convert_file(case_file("same.npy"), scratch.path("m.safetensors"));
  CHECK(read_array(scratch.path("m.safetensors:same")).values == std::vector<double>{1, 2, 3, 4});
  convert_file(case_file("two.safetensors"), scratch.path("two.safetensors"));
  const ArrayFile two = read_tensors(scratch.path("two.safetensors"));
  CHECK(two.tensors.size() == 2);
  CHECK(two.metadata.size() == 1);
  const std::string reserved = scratch.file("__metadata__.npy", content(case_file("same.npy")));
  CHECK_THROWS_WITH_AS(convert_file(reserved, scratch.path("r.safetensors")),
                       (reserved + ": a tensor of a .safetensors file cannot be called __metadata__").c_str(),
                       Error);
}

TEST_CASE("convert: input and output may be the same file") {
  const Scratch scratch;
  const std::string path = scratch.file("same.npy", content(case_file("same.npy")));
  convert_file(path, path);
  CHECK(content(path) == content(case_file("same.npy")));
  const std::string fortran = scratch.file("f.npy", content(case_file("a_fortran.npy")));
  std::filesystem::create_symlink("f.npy", scratch.path("link.npy"));
  convert_file(fortran, scratch.path("link.npy"));
  CHECK(read_array(fortran).values == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(scratch.files() == 3);
}

TEST_CASE("convert: when it fails the old output is as it was and no other file is left") {
  const Scratch scratch;
  const std::string output = scratch.file("out.csv", "old\n");
  CHECK_THROWS_WITH_AS(
      convert_file(case_file("a_cut.npy"), output),
      (case_file("a_cut.npy") + ": truncated: shape [2, 2] of float64 takes 32 bytes, 23 are there").c_str(),
      Error);
  CHECK_THROWS_AS(convert_file(case_file("b_fortran.npy"), output), Error);  // three dimensions
  CHECK_THROWS_AS(convert_file(case_file("two.safetensors"), output), Error);
  CHECK_THROWS_AS(convert_file(case_file("a_empty.npy"), scratch.path("new.json")), Error);
  CHECK_THROWS_AS(convert_file(case_file("same.npy"), scratch.path("new.xyz")), Error);
  CHECK_THROWS_AS(convert_file("no-such-file.npy", scratch.path("new.csv")), Error);
  CHECK(content(output) == "old\n");
  CHECK(scratch.files() == 1);
}
