#include "accounting/account.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "accounting/config.hpp"
#include "lab/embedded_files.hpp"

using namespace attnlab;

namespace {

std::vector<AccountGroup> account(const std::string& name, const Workload& workload = {}) {
  const Architecture a = read_model_config(embedded_file("models/" + name + ".json"), name).architecture;
  return account_for(a, count_parameters(a), workload);
}

std::string figure(const std::vector<AccountGroup>& groups, const char* name) {
  const Quantity* found = find_figure(groups, name);
  return found == nullptr ? "none" : to_string(found->value);
}

}  // namespace

TEST_CASE("account: labels of mixtures leave out the input embedding") {
  CHECK(figure(account("deepseek-v2-lite"), "active_without_input_embedding") == "2451435008");
  CHECK(figure(account("gpt-oss-20b"), "active_without_input_embedding") == "3608307264");
  CHECK(figure(account("pythia-1.4b"), "non_embedding") == "1208602624");
  CHECK(figure(account("pythia-410m"), "non_embedding") == "302311424");
}

TEST_CASE("account: every figure has a name of its own") {
  Workload workload;
  workload.budget = Int128{1} << 34;
  workload.train_tokens = 1000;
  for (const char* name : {"gpt2", "t5-small", "deepseek-v3", "bert-base-uncased", "vit-base-patch16-224"}) {
    CAPTURE(name);
    std::set<std::string> names;
    for (const AccountGroup& group : account(name, workload)) {
      for (const Quantity& quantity : group.quantities) {
        CAPTURE(quantity.name);
        CHECK(names.insert(quantity.name).second);
        CHECK_FALSE(quantity.formula.empty());
        CHECK_FALSE(quantity.unit.empty());
      }
    }
  }
}

TEST_CASE("account: what was not asked for and what a model does not have is absent") {
  CHECK(figure(account("gpt2"), "largest_context") == "none");
  CHECK(figure(account("gpt2"), "training_compute") == "none");
  CHECK(figure(account("deepseek-v3"), "per_block") == "none");
  CHECK(figure(account("bert-base-uncased"), "decode") == "none");
}

TEST_CASE("account: bytes in both units and small ones plain") {
  CHECK(byte_text(37748736) == "36 MiB (37.75 MB)");
  CHECK(byte_text(Int128{70272} << 20) == "68.62 GiB (73.69 GB)");
  CHECK(byte_text(999) == "999 B");
  CHECK(byte_text(0) == "0 B");
  CHECK(byte_text(1000) == "1000 B (1 kB)");
}

TEST_CASE("account: a line of explanation is formula and numbers and value") {
  const auto gpt2 = account("gpt2");
  CHECK(explained(*find_figure(gpt2, "attention_6LTd")) ==
        "attention_6LTd = 6 L T d = 3 T sum of heads (d_k + d_v) = 3 x 1,024 x 18,432 = 56,623,104 FLOPs");
  Component component;
  component.name = "expert.up.weight";
  component.shape = {4, 3};
  component.layers = 2;
  component.copies = 8;
  component.parameters = 192;
  CHECK(explained(component) == "expert.up.weight = 2 layers x 8 copies x 4 x 3 = 192");
  component.stack = "decoder";
  CHECK(full_name(component) == "decoder.expert.up.weight");
}
