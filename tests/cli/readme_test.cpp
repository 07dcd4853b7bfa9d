// README is true: every command in its sh blocks runs as it stands there.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/paths.hpp"
#include "support/run.hpp"

namespace {

std::vector<std::string> readme_commands() {
  std::ifstream readme(std::string(attnlab::source_folder) + "/README.md");
  std::vector<std::string> commands;
  bool in_block = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("```")) {
      in_block = line == "```sh";
      continue;
    }
    if (in_block && line.starts_with("attnlab ")) commands.push_back(line);
  }
  return commands;
}

// The programs behind the pipes of a line, which a machine may lack.
bool has_its_programs(const std::string& line) {
  for (const char* program : {"gnuplot", "datamash", "jq", "Rscript", "python3"}) {
    const bool named = line.find(std::string("| ") + program) != std::string::npos;
    if (named && std::system(("command -v " + std::string(program) + " >/dev/null").c_str()) != 0)
      return false;
  }
  const bool plots = line.find("matplotlib") != std::string::npos;
  return !plots || std::system("python3 -c 'import matplotlib' 2>/dev/null") == 0;
}

}  // namespace

TEST_CASE("readme: every command in it runs") {
  const std::vector<std::string> commands = readme_commands();
  CHECK(commands.size() >= 10);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "attnlab_readme";
  std::filesystem::create_directories(folder);
  const std::string binary_folder = std::filesystem::path(attnlab::attnlab_binary).parent_path();
  for (const std::string& command : commands) {
    CAPTURE(command);
    if (!has_its_programs(command)) {
      MESSAGE("skipped, a program is not installed: " << command);
      continue;
    }
    std::ofstream(folder / "line.sh") << "set -o pipefail\nexport PATH=" << binary_folder << ":$PATH\ncd "
                                      << folder.string() << "\n(" << command << "\n) >/dev/null 2>errors\n";
    const int status = std::system(("bash " + (folder / "line.sh").string()).c_str());
    std::ifstream errors(folder / "errors");
    std::string first;
    std::getline(errors, first);
    CAPTURE(first);
    CHECK(status == 0);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("readme: its table of commands is what list prints") {
  std::ifstream readme(std::string(attnlab::source_folder) + "/README.md");
  std::string table;
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    if (line == "<!-- end of commands -->") break;
    if (inside) table += line + '\n';
    if (line == "<!-- commands -->") inside = true;
  }
  CHECK(table == attnlab::run_command({"list", "--format", "md", "--table", "commands"}).output);
}
