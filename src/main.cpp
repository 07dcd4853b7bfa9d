// Runs the command line, writes the bytes, returns the exit status.
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.hpp"
#include "core/blas.hpp"
#include "core/error.hpp"
#include "io/utf8.hpp"
#include "io/writer.hpp"

namespace {

using namespace attnlab;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool locale_is_utf8() {
  // The characters of the locale are asked for once; numbers stay in the C locale, whatever the user's is.
  if (std::setlocale(LC_CTYPE, "") == nullptr) return false;
  return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

// It shows characters and nothing else, like a file.
bool terminal_is_dumb() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::strcmp(term, "dumb") == 0;
}

int terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// Nobody is left to hear of it when standard error is closed too; the exit status still says so.
void write_notes(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

// How far a long run is, on a line of standard error that is written over and wiped in the end.
class ProgressLine {
 public:
  void show(double fraction, std::string_view what) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    const std::string line = fmt::format("{:.0f} %: {}", 100 * fraction, what).substr(0, 78);
    write_notes(fmt::format("\r{:<{}}", line, width_));
    width_ = line.size();
  }
  void wipe() {
    if (width_ > 0) write_notes(fmt::format("\r{:<{}}\r", "", width_));
    width_ = 0;
  }

 private:
  // Who waits less than two seconds needs no telling.
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  std::size_t width_ = 0;
};

Environment environment_of_process() {
  Environment environment;
  environment.output_is_terminal = isatty(STDOUT_FILENO) != 0 && !terminal_is_dumb();
  environment.error_is_terminal = isatty(STDERR_FILENO) != 0;
  environment.utf8 = locale_is_utf8();
  environment.no_color = is_set("NO_COLOR");
  const char* color_term = std::getenv("COLORTERM");
  environment.true_color = color_term != nullptr && (std::strcmp(color_term, "truecolor") == 0 ||
                                                     std::strcmp(color_term, "24bit") == 0);
  environment.columns = terminal_columns();
  std::error_code unknown;
  environment.program_folder =
      std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path().string();
  environment.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return environment;
}

extern "C" void stop_at_once(int) {
  discard_unfinished_output();
  _exit(130);
}

// Ends as the signal would have ended the program, but leaves no unfinished file.
extern "C" void stop_as_told(int signal) {
  discard_unfinished_output();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// What is mapped cannot be read where the file ends now.
extern "C" void input_shortened(int) {
  discard_unfinished_output();
  constexpr char text[] = "attnlab: cannot read a file: it was shortened while it was read\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(3);
}

int write_result(const Outcome& outcome) {
  try {
    for (const OutputFile& file : outcome.files) write_output(file.path, file.produce);
    if (outcome.produce) {
      write_output(outcome.path, outcome.produce);
    } else if (!outcome.output.empty() || outcome.path != "-") {
      write_output(outcome.path, outcome.output);
    }
    return outcome.status;
  } catch (const Error& error) {
    write_notes("attnlab: " + printable(error.what()) + "\n");
    return error.kind() == ErrorKind::fault ? 4 : 3;
  } catch (const std::exception& error) {
    write_notes(std::string("attnlab: a fault of the program: ") + error.what() + "\n");
    return 4;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has left is no fault; the writer is told by EPIPE
  std::signal(SIGXFSZ, SIG_IGN);  // the writer is told of a file too long by EFBIG
  std::signal(SIGBUS, input_shortened);
  std::signal(SIGINT, stop_at_once);
  std::signal(SIGTERM, stop_as_told);
  if (std::signal(SIGHUP, stop_as_told) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // nohup stays deaf
  set_blas_threads(1);  // our own threads call it; its last bits depend on its thread count
  ProgressLine progress;
  Environment environment = environment_of_process();
  if (environment.error_is_terminal)
    environment.progress = [&](double fraction, std::string_view what) { progress.show(fraction, what); };
  const Outcome outcome = run_cli({argv + 1, argv + argc}, environment);
  progress.wipe();
  write_notes(outcome.notes);
  // A command that failed has no result to write.
  const int status = outcome.status >= 2 ? outcome.status : write_result(outcome);
  // All is written and nothing is buffered: leaving at once spares waiting for the BLAS library's idle
  // thread.
  _exit(status);
}
