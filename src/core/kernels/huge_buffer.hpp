// Large blocks of floats for kernels: aligned to huge pages, and refused before they are taken when they do
// not fit.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace attnlab {

/// Bytes that can still be taken without swapping: what the system calls available, or less where a control
/// group or a resource limit allows less; the largest std::size_t where the system does not say.
std::size_t available_memory();

/// Throws Error(usage) when `bytes` exceed available_memory(), naming `what`, how much it needs and how much
/// there is.
void require_bytes(std::size_t bytes, const std::string& what);

/// Uninitialised memory for `count` elements of T, which is a plain type. From 2 MiB up it is aligned to huge
/// pages and asks the system for them, which kernels that walk gigabytes gain up to half of their speed from;
/// below, it is aligned to a cache line.
template <class T>
class HugeBuffer {
 public:
  HugeBuffer() = default;
  /// Throws Error(usage) as require_bytes does.
  HugeBuffer(std::size_t count, const std::string& what);

  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  std::size_t size() const { return count_; }
  std::span<T> elements() { return {memory_.get(), count_}; }
  std::span<const T> elements() const { return {memory_.get(), count_}; }

 private:
  struct Free {
    void operator()(T* memory) const;
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t count_ = 0;
};

}  // namespace attnlab
