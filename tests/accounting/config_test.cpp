#include "accounting/config.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "accounting/compute.hpp"
#include "accounting/parameters.hpp"
#include "lab/embedded_files.hpp"

using namespace attnlab;

TEST_CASE("accounting: the 56 models to the last digit") {
  std::istringstream rows{std::string(embedded_file("models/expected.csv"))};
  std::string line;
  std::getline(rows, line);
  int models = 0;
  while (std::getline(rows, line)) {
    std::istringstream fields(line);
    std::string name, total, embedding, active, cache;
    std::getline(fields, name, ',');
    std::getline(fields, total, ',');
    std::getline(fields, embedding, ',');
    std::getline(fields, active, ',');
    std::getline(fields, cache, ',');
    CAPTURE(name);
    const ModelConfig config = read_model_config(embedded_file("models/" + name + ".json"), name + ".json");
    const ParameterCount count = count_parameters(config.architecture);
    CHECK(to_string(count.total) == total);
    CHECK(to_string(count.embedding + count.lm_head) == embedding);
    CHECK(to_string(count.active) == active);
    CHECK(to_string(cache_elements_per_token(config.architecture) * 2) == cache);
    ++models;
  }
  CHECK(models == 56);
}
