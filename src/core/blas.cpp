#include "core/blas.hpp"

#include <algorithm>

#include <sys/mman.h>

#include "core/error.hpp"

extern "C" {
char* openblas_get_config();
char* openblas_get_corename();
void openblas_set_num_threads(int count);
int openblas_get_num_threads();
}

namespace attnlab {
namespace {

bool can_map(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

}  // namespace

std::string blas_library() {
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  return config.substr(0, config.find(' ', config.find(' ') + 1));
}

std::string blas_kernel() { return openblas_get_corename(); }

void set_blas_threads(std::size_t threads) {
  openblas_set_num_threads(static_cast<int>(std::max<std::size_t>(threads, 1)));
}

BlasThreads::BlasThreads(std::size_t count) : before_(static_cast<std::size_t>(openblas_get_num_threads())) {
  set_blas_threads(count);
}

BlasThreads::~BlasThreads() { set_blas_threads(before_); }

void require_blas_memory() {
  constexpr std::size_t buffer = (std::size_t{128} << 20) + (std::size_t{1} << 20);
  static const bool fits = can_map(buffer);
  if (!fits) {
    throw Error(ErrorKind::io,
                "the products of matrices need 128 MiB of address space: allow more (ulimit -v)");
  }
}

}  // namespace attnlab
