// The one exception type. It lives below everything else because every layer throws it.
#pragma once

#include <stdexcept>
#include <string>

namespace attnlab {

/// Who can mend it, and with that the exit status of the program.
enum class ErrorKind {
  usage,  ///< the command line alone shows it (2)
  data,   ///< the content of a file, shapes included, shows it (3)
  io,     ///< reading or writing failed (3)
  fault,  ///< a fault of this program (4)
};

/// An error with one line of text: what was wrong with which file, option or argument, and what would be
/// right.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace attnlab
