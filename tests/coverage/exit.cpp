// Linked into the program that is counted: it leaves by _exit, which would drop the counts. A signal that
// comes while they are written must wait, because its handler leaves by _exit, too.
#include <signal.h>

// The names are those of gcov and of the linker's --wrap.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {
void __gcov_dump();
[[noreturn]] void __real__exit(int status);

[[noreturn]] void __wrap__exit(int status) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  __gcov_dump();
  __real__exit(status);
}
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
