// One mistake beside the right answer, on data small enough to be read.
#pragma once

#include <string>

#include "operations/mistake.hpp"

namespace attnlab {

/// A call in which a mistake shows.
struct Exhibit {
  Trial call;
  bool of_lesson = false;  ///< its arrays are those of the lesson's first listing
  std::string result;      ///< the first result that differs
  Array right, wrong;      ///< what it holds, without and with the mistake
};

/// The mistake on the lesson's own data where it shows there, else on a small random call. Throws
/// Error(fault) where it shows in none.
Exhibit exhibit_of(const Mistake& mistake);

/// The call's options other than the defaults, as typed: "--heads 2 --causal".
std::string options_text(const Trial& call);

}  // namespace attnlab
