#include "operations/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/matmul.hpp"
#include "operations/arrangement.hpp"
#include "operations/attention_call.hpp"

namespace attnlab {
namespace {

// A mistake is named only where it is this much nearer than the right answer.
constexpr double clearly_nearer = 8;

const Precision whole_numbers{"whole numbers", 0};  // codes, counts and indices are right or wrong

bool are_whole(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == std::floor(x); });
}

std::vector<std::size_t> index_of(std::size_t flat, const Shape& shape) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

std::string names_with_shapes(const std::vector<std::pair<std::string, Array>>& results) {
  std::string text;
  for (const auto& [name, array] : results)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shape_text(array.shape));
  return text;
}

const std::pair<std::string, Array>& chosen_result(const std::vector<std::pair<std::string, Array>>& results,
                                                   const std::string& wanted, const Array& yours,
                                                   const std::string& label) {
  const auto found = std::find_if(results.begin(), results.end(), [&](const auto& named) {
    return wanted.empty() ? named.second.values.size() == yours.values.size() : named.first == wanted;
  });
  if (found == results.end() && !wanted.empty()) {
    throw Error(ErrorKind::usage, fmt::format("--result {}: there is none of that name, only {}", wanted,
                                              names_with_shapes(results)));
  }
  if (found == results.end() || found->second.values.size() != yours.values.size()) {
    throw Error(ErrorKind::data, fmt::format("{}: shape {} where the operation gives {}", label,
                                             shape_text(yours.shape), names_with_shapes(results)));
  }
  return *found;
}

// The numbers of one of the results; empty where there is none of that name.
std::vector<double> numbers_of(const Results& results, const std::string& name) {
  for (auto& [result, array] : numeric_results(results)) {
    if (result == name) return std::move(array.values);
  }
  return {};
}

// The call with its arrays in another type; whole numbers are masks, positions and indices and stay.
Trial with_arrays_as(const std::string& type, const Trial& call) {
  Trial rounded(call);
  for (const InputInfo& info : call.operation().inputs) {
    if (!call.inputs.has(info.name)) continue;
    Array array = call.inputs.array(info.name);
    if (are_whole(array.values)) continue;
    for (double& value : array.values) value = rounded_to(type, value);
    rounded.inputs.set(info.name, array, call.inputs.label(info.name));
  }
  return rounded;
}

// The 16-bit type whose rounding of the arrays explains how far `yours` is from `exact`, what the call gives
// with these mistakes; "" where none does. An error of another origin is no nearer to what rounded arrays
// give than to what the exact ones do.
std::string rounding_behind(const Trial& call, const std::vector<const Mistake*>& mistakes,
                            const std::string& result, const std::vector<double>& yours,
                            const std::vector<double>& exact) {
  std::string behind;
  double nearest = 0.8 * rms_distance(yours, exact);
  for (const Precision& type : {arithmetics()[0], arithmetics()[1]}) {
    const std::vector<double> rounded =
        numbers_of(wrong_results(with_arrays_as(type.name, call), mistakes).value_or(Results{}), result);
    if (rounded.size() != yours.size()) continue;
    const double away = rms_distance(yours, rounded);
    if (away < nearest && away <= rms_distance(rounded, exact)) {
      behind = type.name;
      nearest = away;
    }
  }
  return behind;
}

// A few rows of the caller's numbers, where they are those of an attention; nothing elsewhere. Behind an
// output projection they are of all heads.
std::optional<Glimpse> glimpse_at(const Trial& call, const Diagnosis& found) {
  const std::string& operation = call.operation().name;
  const bool is_attention = operation == "attention" || operation == "kv-decode" ||
                            operation == "cross-attention" || operation == "multi-head";
  if (!is_attention || !found.first_difference) return {};
  const Shape& shape = found.expected.shape;
  const std::vector<std::size_t>& first = *found.first_difference;
  const auto heads = static_cast<std::size_t>(call.number("heads", 1));
  const bool heads_in_columns = found.result == "output";
  const bool heads_in_front = !heads_in_columns && heads > 1;
  const std::size_t row_axis = heads_in_front ? 1 : 0;
  const std::vector<std::size_t> rows = {first[row_axis], shape[row_axis] / 2, shape[row_axis] - 1};
  if (heads_in_columns && call.inputs.has("wo")) return Glimpse{{}, rows};
  return Glimpse{heads_in_columns ? first[1] * heads / shape[1] : heads_in_front ? first[0] : 0, rows};
}

using Faults = std::vector<std::shared_ptr<const AttentionMistake>>;

// Commits mistakes and compares what they give with the caller's numbers.
class Search {
 public:
  Search(const Trial& call, const Diagnosis& found, const std::vector<double>& yours)
      : call_(call),
        found_(found),
        yours_(yours),
        largest_(largest_magnitude(yours)),
        away_(difference(yours, found.expected.values, largest_)),
        glimpse_(glimpse_at(call, found)),
        known_(mistakes_of(call.operation().name)) {
    if (glimpse_) attention_ = attention_call(call);
  }

  std::vector<Explanation> singles() {
    for (std::size_t n = 0; n < known_.size(); ++n) {
      if (attempt({known_[n]})) possible_.push_back(n);
    }
    return explanations();
  }

  std::vector<Explanation> pairs() {
    for (const std::size_t first : possible_) {
      for (std::size_t second = first + 1; second < known_.size(); ++second) {
        // In an attention no mistake makes room for another.
        if (glimpse_ && !std::binary_search(possible_.begin(), possible_.end(), second)) continue;
        attempt({known_[first], known_[second]});
      }
    }
    return explanations();
  }

  // The nearest single mistake, where 16-bit arrays explain how far it is still away.
  std::vector<Explanation> nearest_rounded() const {
    if (!nearest_ || nearest_->difference.residual * clearly_nearer > away_.residual) return {};
    const std::vector<double> exact =
        numbers_of(wrong_results(call_, nearest_->mistakes).value_or(Results{}), found_.result);
    const bool rounded = !rounding_behind(call_, nearest_->mistakes, found_.result, yours_, exact).empty();
    return rounded ? std::vector{*nearest_} : std::vector<Explanation>{};
  }

  // The single mistake that comes clearly nearer than the right answer.
  std::optional<Explanation> nearest() const {
    if (!nearest_ || !std::isfinite(nearest_->difference.residual) ||
        nearest_->difference.residual * 2 > away_.residual)
      return {};
    return nearest_;
  }

 private:
  // False where the mistakes cannot be made.
  bool attempt(const std::vector<const Mistake*>& some) {
    const std::optional<Trial> trial = committed(call_, some);
    if (!trial) return false;
    try {
      if (glimpse_ && trial->differs_in_attention_only(call_)) {
        const std::optional<Difference> away = glimpsed(trial->attention);
        if (away && !is_worth_a_run(some, *away)) return true;
      }
      keep(some, numbers_of(trial->run(), found_.result));
      return true;
    } catch (const Error&) {
      return false;  // what cannot be computed was not what the caller computed
    }
  }

  // What differs in the whole is no less than what differs in a part.
  bool is_worth_a_run(const std::vector<const Mistake*>& some, const Difference& of_part) const {
    return fits(of_part) ||
           (some.size() == 1 && (!nearest_ || of_part.residual < nearest_->difference.residual));
  }

  void keep(const std::vector<const Mistake*>& some, const std::vector<double>& numbers) {
    if (numbers.size() != yours_.size()) return;
    const Explanation explanation{some, difference(yours_, numbers, largest_)};
    if (fits(explanation.difference)) fitting_.push_back(explanation);
    if (some.size() == 1 && (!nearest_ || nearer(explanation, *nearest_))) nearest_ = explanation;
  }

  // How far a few rows are away; nothing where they cannot be compared.
  std::optional<Difference> glimpsed(const Faults& faults) {
    if (!glimpse_->head) return glimpsed_behind_projection(faults);
    const Glimpsed glimpsed = glimpse_of_attention(*attention_, faults, *glimpse_);
    const std::string& name = found_.result;
    const auto heads = static_cast<std::size_t>(call_.number("heads", 1));
    if (name != "output" && glimpsed.num_heads != heads) return {};
    const std::vector<double>* yours = name == "output" ? before_joining(faults) : &yours_;
    if (yours == nullptr) return {};
    const Attention& part = glimpsed.part;
    const Matrix& grid = name == "weights" ? part.weights : name == "scores" ? part.scores : part.output;
    const std::size_t width = name == "lse" ? 1 : grid.shape(1);
    const Shape& shape = found_.expected.shape;
    const std::size_t num_rows = name == "lse" ? shape.back() : shape[shape.size() - 2];
    std::vector<double> own;
    for (const std::size_t row : glimpse_->rows) {
      const std::size_t begin = name == "output" ? row * shape[1] + glimpsed.head * width
                                                 : (glimpsed.head * num_rows + row) * width;
      own.insert(own.end(), yours->begin() + static_cast<std::ptrdiff_t>(begin),
                 yours->begin() + static_cast<std::ptrdiff_t>(begin + width));
    }
    if (name == "lse") return difference(own, {part.lse.begin(), part.lse.end()}, largest_);
    return difference(own, {grid.begin(), grid.end()}, largest_);
  }

  std::optional<Difference> glimpsed_behind_projection(const Faults& faults) const {
    if (std::any_of(faults.begin(), faults.end(), [](const auto& fault) { return fault->output != nullptr; }))
      return {};
    const Glimpsed glimpsed = glimpse_of_attention(*attention_, faults, *glimpse_);
    const Matrix output = matmul(glimpsed.part.output, call_.inputs.matrix("wo"));
    std::vector<double> own;
    for (const std::size_t row : glimpse_->rows) {
      const auto begin = yours_.begin() + static_cast<std::ptrdiff_t>(row * output.shape(1));
      own.insert(own.end(), begin, begin + static_cast<std::ptrdiff_t>(output.shape(1)));
    }
    return difference(own, {output.begin(), output.end()}, largest_);
  }

  // The caller's output as the heads would have given it, had these faults then put its elements where they
  // are; null where they did something else.
  const std::vector<double>* before_joining(const Faults& faults) {
    Faults joining;
    for (const auto& fault : faults) {
      if (fault->output) joining.push_back(fault);
    }
    if (joining.empty()) return &yours_;
    const auto [known, is_new] = before_joining_.try_emplace(joining, yours_);
    if (!is_new) return known->second.empty() ? nullptr : &known->second;
    Matrix places = Matrix::from_shape({found_.expected.shape[0], found_.expected.shape[1]});
    std::iota(places.begin(), places.end(), 0.0);
    for (const auto& fault : joining) fault->output(*attention_, places);
    std::vector<double>& undone = known->second;
    std::vector<bool> taken(yours_.size());
    for (std::size_t n = 0; n < yours_.size(); ++n) {
      const double place = places.data()[n];
      if (std::isnan(place) || taken[static_cast<std::size_t>(place)]) {
        undone.clear();
        return nullptr;
      }
      taken[static_cast<std::size_t>(place)] = true;
      undone[static_cast<std::size_t>(place)] = yours_[n];
    }
    return &undone;
  }

  bool fits(const Difference& away) const {
    return away.residual * clearly_nearer <= away_.residual && found_.precision.explains(away);
  }

  static bool nearer(const Explanation& a, const Explanation& b) {
    return a.difference.residual < b.difference.residual;
  }

  // Those that fit, the best first, without those that fit clearly worse than the best one.
  std::vector<Explanation> explanations() {
    std::stable_sort(fitting_.begin(), fitting_.end(), nearer);
    const auto worse = [&](const Explanation& one) {
      return !found_.precision.absolute && !arithmetics().back().explains(one.difference) &&
             one.difference.residual > clearly_nearer * fitting_[0].difference.residual;
    };
    while (fitting_.size() > 1 && worse(fitting_.back())) fitting_.pop_back();
    return fitting_;
  }

  const Trial& call_;
  const Diagnosis& found_;
  const std::vector<double>& yours_;
  const double largest_;
  const Difference away_;  // of the right answer
  const std::optional<Glimpse> glimpse_;
  std::optional<AttentionCall> attention_;  // right, where there is a glimpse of it
  std::map<Faults, std::vector<double>> before_joining_;
  const std::vector<const Mistake*> known_;
  std::vector<std::size_t> possible_;  // alone, by index; after another one a mistake may be possible anew
  std::vector<Explanation> fitting_;
  std::optional<Explanation> nearest_;
};

void locate(Diagnosis& diagnosis, std::size_t num_heads) {
  const std::vector<double>& yours = diagnosis.yours.values;
  const std::vector<double>& expected = diagnosis.expected.values;
  const double largest = largest_magnitude(expected);
  std::vector<bool> differs;
  std::vector<double> distances;
  for (std::size_t n = 0; n < yours.size(); ++n) {
    const Difference one = difference({yours[n]}, {expected[n]}, largest);
    distances.push_back(one.max_abs);
    differs.push_back(!diagnosis.precision.explains(one));
  }
  const auto first = std::find(differs.begin(), differs.end(), true);
  if (first == differs.end()) return;
  diagnosis.first_difference =
      index_of(static_cast<std::size_t>(first - differs.begin()), diagnosis.expected.shape);
  diagnosis.spread = spread_of(differs, distances, diagnosis.expected.shape, num_heads);
}

// How many numbers are none, and whether those that are match.
void set_apart_what_is_no_number(Diagnosis& diagnosis) {
  std::vector<double> others = diagnosis.yours.values;
  for (std::size_t n = 0; n < others.size(); ++n) {
    if (std::isfinite(others[n]) || !std::isfinite(diagnosis.expected.values[n])) continue;
    ++diagnosis.not_numbers;
    others[n] = diagnosis.expected.values[n];
  }
  diagnosis.others_match = diagnosis.precision.explains(difference(others, diagnosis.expected.values));
}

// 16-bit arithmetic would explain how far these numbers are from the right ones; but where a single mistake
// gives them to within the rounding of their storage, and the right answer does not, they are that mistake's.
bool name_stored_mistake(const Trial& call, Diagnosis& diagnosis, std::size_t num_heads) {
  if (!diagnosis.precision.name.ends_with("float16")) return false;
  // Half a unit in the last of 11 or 8 bits, relative to twice the largest, with a little room.
  const double stored = 1.1 * std::exp2(diagnosis.precision.name == "float16" ? -12 : -9);
  Diagnosis strict = diagnosis;
  strict.precision.tolerance = stored;
  if (strict.precision.explains(diagnosis.difference)) return false;
  locate(strict, num_heads);
  strict.explanations = Search(call, strict, strict.yours.values).singles();
  if (strict.explanations.empty()) return false;
  strict.precision = diagnosis.precision;
  diagnosis = std::move(strict);
  return true;
}

// The options that the call leaves at their defaults, each changed alone to each other choice: those with
// which its result is the caller's.
std::vector<std::string> fitting_settings(const Trial& call, const Diagnosis& found) {
  std::vector<std::string> fitting;
  const auto attempt = [&](const Option& option, const std::string& choice) {
    try {
      Trial other(call);
      other.set(option.name, choice);
      const std::vector<double> numbers = numbers_of(other.run(), found.result);
      if (numbers.size() != found.yours.values.size()) return;
      const Difference away = difference(found.yours.values, numbers);
      if (!found.precision.explains(away) || away.residual * clearly_nearer > found.difference.residual)
        return;
      fitting.push_back("--" + option.name + (choice.empty() ? "" : " " + choice));
    } catch (const Error&) {
      // What these arrays do not allow is not what the caller did.
    }
  };
  for (const Option& option : call.options().all()) {
    if (option.name == "dtype" || option.name == "method") continue;  // ways to compute the same
    const std::string now = call.option(option.name);
    if (option.is_flag() && now.empty()) attempt(option, "");
    for (const std::string& choice : option.choices) {
      if (choice != now) attempt(option, choice);
    }
  }
  return fitting;
}

void match(Diagnosis& diagnosis, const std::string& arithmetic) {
  diagnosis.matches = true;
  diagnosis.arithmetic = arithmetic;
  diagnosis.first_difference.reset();
  diagnosis.spread.clear();
}

}  // namespace

std::string Explanation::name() const {
  std::string text;
  for (const Mistake* mistake : mistakes) text += (text.empty() ? "" : " and ") + mistake->name;
  return text;
}

std::vector<std::pair<std::string, Array>> numeric_results(const Results& results) {
  std::vector<std::pair<std::string, Array>> numeric;
  for (const NamedResult& result : results) {
    if (const auto* array = std::get_if<Array>(&result.value)) {
      numeric.emplace_back(result.name, *array);
    } else if (const auto* real = std::get_if<double>(&result.value)) {
      numeric.emplace_back(result.name, Array{{}, {*real}});
    } else if (const auto* wide = std::get_if<Int128>(&result.value)) {
      numeric.emplace_back(result.name, Array{{}, {static_cast<double>(*wide)}});
    }
  }
  return numeric;
}

Diagnosis diagnose(const Trial& call, const std::string& result, const Array& given,
                   const std::string& label) {
  const std::vector<std::pair<std::string, Array>> right = numeric_results(call.run());
  Diagnosis diagnosis;
  std::tie(diagnosis.result, diagnosis.expected) = chosen_result(right, result, given, label);
  Arrangement arranged = arranged_like(diagnosis.expected, given);
  diagnosis.yours = std::move(arranged.array);
  diagnosis.arrangement = std::move(arranged.note);
  const std::vector<double>& yours = diagnosis.yours.values;
  const bool is_whole = are_whole(yours) && are_whole(diagnosis.expected.values);
  diagnosis.precision = is_whole ? whole_numbers : precision_of(yours);
  diagnosis.difference = difference(yours, diagnosis.expected.values);
  set_apart_what_is_no_number(diagnosis);
  std::string arithmetic;  // the least exact one that the difference needs
  for (const Precision& type : arithmetics()) {
    if (type.explains(diagnosis.difference)) arithmetic = type.name;
  }
  const auto num_heads = static_cast<std::size_t>(call.number("heads", 1));
  if (diagnosis.precision.explains(diagnosis.difference)) {
    if (!name_stored_mistake(call, diagnosis, num_heads)) match(diagnosis, arithmetic);
    return diagnosis;
  }

  locate(diagnosis, num_heads);
  Search search(call, diagnosis, yours);
  diagnosis.explanations = search.singles();
  if (!diagnosis.explanations.empty()) return diagnosis;
  diagnosis.settings = fitting_settings(call, diagnosis);
  if (!diagnosis.settings.empty()) return diagnosis;
  if (!is_whole) {
    if (arithmetic.empty() || arithmetic.ends_with("float16"))
      arithmetic = rounding_behind(call, {}, diagnosis.result, yours, diagnosis.expected.values);
    if (!arithmetic.empty()) {
      match(diagnosis, arithmetic);
      return diagnosis;
    }
    diagnosis.explanations = search.nearest_rounded();
  }
  if (diagnosis.explanations.empty()) diagnosis.explanations = search.pairs();
  if (diagnosis.explanations.empty()) diagnosis.nearest = search.nearest();
  return diagnosis;
}

}  // namespace attnlab
