// Known mistakes: the ways in which an operation is computed wrongly, each with its reason and its remedy.
// `diagnose` commits them one after the other and looks which one gives the caller's numbers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/operation.hpp"

namespace attnlab {

struct AttentionMistake;
struct RopeUse;

/// One call of an operation, to be changed before it runs: its options, its arrays, what becomes of its
/// results.
class Trial {
 public:
  /// A copy of a call: `options` as they stand, and its arrays.
  Trial(const Operation& called, const OptionSet& options, Inputs arrays);

  const Operation& operation() const { return *operation_; }
  const OptionSet& options() const { return session_->options; }
  /// What the options are bound to; of the type that the operation was made with.
  const void* parameters() const { return session_->parameters.get(); }
  Inputs inputs;
  /// Changes the results, in this order.
  std::vector<std::function<void(const Trial&, Results&)>> afterwards;
  /// Faults in the attention that the operation consists of or contains.
  std::vector<std::shared_ptr<const AttentionMistake>> attention;
  /// Faults in the rotary embedding that the operation consists of; false where one cannot be made.
  std::vector<std::function<bool(RopeUse&)>> rope;

  /// Computes in place of the operation; false where another mistake does so already.
  bool compute_by(std::function<Results(const Trial&)> instead);
  /// Whether it differs from the call it was copied from in nothing but faults of an attention.
  bool differs_in_attention_only(const Trial& from) const {
    return !attention.empty() && !instead_ && afterwards.empty() && rope.empty() &&
           session_ == from.session_ && inputs.shares_arrays_with(from.inputs);
  }
  /// The same call, computed by the operation itself; faults in its attention stay.
  Trial computed_plainly() const;

  /// The text of an option; empty when there is none of that name or it is not given.
  std::string option(std::string_view name) const;
  /// The number of an option, or `otherwise`.
  double number(std::string_view name, double otherwise = 0) const;
  /// Sets an option from text; always true.
  bool set(std::string_view name, const std::string& text);
  bool set(std::string_view name, double value);

  /// What the operation gives with all of that. Throws what the operation throws, and Error(data) where a
  /// fault cannot be made.
  Results run() const;
  /// What the operation itself gives, without faults other than in options and arrays.
  Results run_operation() const { return session_->run(inputs); }

 private:
  const Operation* operation_;
  std::shared_ptr<OperationSession> session_;  // copies share it until they set an option
  std::function<Results(const Trial&)> instead_;
};

/// Sets the options of `to` that `from` has as well and that are given there.
void copy_options(const OptionSet& from, OptionSet& to);

/// A mistake. Texts are one sentence each, without names of people or products where none is needed.
struct Mistake {
  std::string name;                     ///< kebab-case, unique
  std::vector<std::string> operations;  ///< that it is made in
  std::string why;                      ///< why it is wrong
  std::string remedy;                   ///< what to change
  std::string right_when;               ///< the settings under which it would be right; empty for none
  /// Changes a call into the wrong one; false where these options and arrays leave no room for the mistake.
  std::function<bool(Trial&)> commit;
  std::string claim = {};  ///< of `verify`, "experiment/claim", which fails with it; empty where none does
};

/// The call with these mistakes made in it; nothing where one of them cannot be made. More may turn out when
/// it runs.
std::optional<Trial> committed(const Trial& call, const std::vector<const Mistake*>& mistakes);
/// What the call gives with these mistakes made in it; nothing where one of them cannot be made, or together
/// they give no result.
std::optional<Results> wrong_results(const Trial& call, const std::vector<const Mistake*>& mistakes);

/// All mistakes, family by family, the commonest first.
const std::vector<Mistake>& mistakes();
/// Those of one operation.
std::vector<const Mistake*> mistakes_of(std::string_view operation);
/// Null when there is none of that name.
const Mistake* find_mistake(std::string_view name);

/// The claim of `verify` that fails when a mistake is made, "experiment/claim"; empty where there is none.
std::string claim_against(std::string_view mistake);

// One file a family.
std::vector<Mistake> attention_mistakes();
std::vector<Mistake> position_mistakes();
std::vector<Mistake> layer_mistakes();
std::vector<Mistake> cache_mistakes();

}  // namespace attnlab
