// The one way in which bytes leave the program: checked to the end, whole or not at all.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace attnlab {

/// Takes the next bytes of an output.
using ByteSink = std::function<void(std::string_view bytes)>;
/// Hands an output to a sink piece by piece; may throw, and then nothing is written to a regular file.
using ByteProducer = std::function<void(const ByteSink& sink)>;

enum class WriteOutcome {
  complete,
  reader_left,  ///< the other end of a pipe was closed (`| head`): no fault, but the rest was not written
};

/// Writes to a path; "-" (also /dev/stdout) is standard output. A regular file is replaced atomically: its
/// mode is kept, symbolic links are followed, and until the last byte is on disk the old file stays. Devices,
/// pipes and /dev/fd/N are written directly. SIGPIPE must be ignored by the program. Throws Error(io) "cannot
/// write PATH: REASON", and whatever `produce` throws.
WriteOutcome write_output(const std::string& path, const ByteProducer& produce);
WriteOutcome write_output(const std::string& path, std::string_view bytes);

/// Removes the temporary file of an output that is being written, if there is one. Safe in a signal handler.
void discard_unfinished_output() noexcept;

}  // namespace attnlab
