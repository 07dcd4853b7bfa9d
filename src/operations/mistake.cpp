#include "operations/mistake.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "operations/attention_call.hpp"
#include "operations/rope_use.hpp"

namespace attnlab {
namespace {

// As one would type it; empty for what is not given.
std::string option_text(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return shortest(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "";
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    return fmt::format("{}", fmt::join(*list, ","));
  return "";
}

// The value of an option; nothing when there is none of that name.
Value value_of(const OptionSet& options, std::string_view name) {
  for (const Option& option : options.all()) {
    if (option.name == name) return option.get();
  }
  return {};
}

}  // namespace

void copy_options(const OptionSet& from, OptionSet& to) {
  for (const Option& option : from.all()) {
    const std::string text = option_text(option.get());
    if (!text.empty() && to.find(option.name) != nullptr) to.set(option.name, text);
  }
}

Trial::Trial(const Operation& called, const OptionSet& options, Inputs arrays)
    : inputs(std::move(arrays)), operation_(&called), session_(called.start()) {
  copy_options(options, session_->options);
}

std::string Trial::option(std::string_view name) const {
  return option_text(value_of(session_->options, name));
}

double Trial::number(std::string_view name, double otherwise) const {
  const Value value = value_of(session_->options, name);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return otherwise;
}

bool Trial::set(std::string_view name, const std::string& text) {
  if (session_.use_count() > 1) {
    std::shared_ptr<OperationSession> own = operation_->start();
    copy_options(session_->options, own->options);
    session_ = std::move(own);
  }
  session_->options.set(name, text);
  return true;
}

bool Trial::set(std::string_view name, double value) { return set(name, shortest(value)); }

bool Trial::compute_by(std::function<Results(const Trial&)> instead) {
  if (instead_) return false;
  instead_ = std::move(instead);
  return true;
}

Trial Trial::computed_plainly() const {
  Trial plain(*this);
  plain.instead_ = nullptr;
  plain.afterwards.clear();
  return plain;
}

Results Trial::run() const {
  Results results = instead_             ? instead_(*this)
                    : !rope.empty()      ? run_rope(*this)
                    : !attention.empty() ? run_attention(*this)
                                         : run_operation();
  for (const auto& change : afterwards) change(*this, results);
  return results;
}

std::optional<Trial> committed(const Trial& call, const std::vector<const Mistake*>& mistakes) {
  std::optional<Trial> trial(call);
  try {
    for (const Mistake* mistake : mistakes) {
      if (!mistake->commit(*trial)) return {};
    }
  } catch (const Error&) {
    return {};  // a second mistake need not fit what the first one made of the arrays
  }
  return trial;
}

std::optional<Results> wrong_results(const Trial& call, const std::vector<const Mistake*>& mistakes) {
  const std::optional<Trial> trial = committed(call, mistakes);
  try {
    return trial ? std::optional(trial->run()) : std::nullopt;
  } catch (const Error&) {
    return {};  // what cannot be computed was not what a caller computed
  }
}

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all = [] {
    std::vector<Mistake> list;
    for (const auto& family : {attention_mistakes, position_mistakes, layer_mistakes, cache_mistakes}) {
      std::vector<Mistake> some = family();
      std::move(some.begin(), some.end(), std::back_inserter(list));
    }
    for (Mistake& mistake : list) mistake.claim = claim_against(mistake.name);
    return list;
  }();
  return all;
}

std::vector<const Mistake*> mistakes_of(std::string_view operation) {
  std::vector<const Mistake*> some;
  for (const Mistake& mistake : mistakes()) {
    if (std::count(mistake.operations.begin(), mistake.operations.end(), operation) > 0)
      some.push_back(&mistake);
  }
  return some;
}

const Mistake* find_mistake(std::string_view name) {
  const auto found = std::find_if(mistakes().begin(), mistakes().end(),
                                  [&](const Mistake& mistake) { return mistake.name == name; });
  return found == mistakes().end() ? nullptr : &*found;
}

}  // namespace attnlab
