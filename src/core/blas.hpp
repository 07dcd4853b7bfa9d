// What is asked of OpenBLAS beside products of matrices: who it is, how many threads it takes, whether it can
// start.
#pragma once

#include <cstddef>
#include <string>

namespace attnlab {

/// Its name and version: "OpenBLAS 0.3.21".
std::string blas_library();

/// The name of the kernel family that it chose for this processor, such as "SkylakeX".
std::string blas_kernel();

/// Threads that products use from now on, at least 1. One thread makes the last bits repeatable.
void set_blas_threads(std::size_t threads);

/// Threads of products as long as it lives; then as many as before.
class BlasThreads {
 public:
  explicit BlasThreads(std::size_t count);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  std::size_t before_;
};

/// To be called before the first product: throws Error(io) when the address space that OpenBLAS works in is
/// not to be had, for it would ask for it for ever.
void require_blas_memory();

}  // namespace attnlab
