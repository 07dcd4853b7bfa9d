#include "core/blas.hpp"

#include <cstdlib>

#include <sys/wait.h>

#include <doctest/doctest.h>

#include "support/paths.hpp"

using namespace attnlab;

TEST_CASE("blas: the library and its kernel have names") {
  CHECK(blas_library().starts_with("OpenBLAS "));
  CHECK_FALSE(blas_kernel().empty());
}

// An address sanitizer needs terabytes of address space.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("blas: without the address space it works in a product is refused instead of waited for") {
  const std::string command = "ulimit -v 61000; timeout 20 '" + std::string(attnlab_binary) +
                              "' attention 2>&1 | grep -q '^attnlab: .*128 MiB of address space'";
  CHECK(WEXITSTATUS(std::system(command.c_str())) == 0);
}
#endif
