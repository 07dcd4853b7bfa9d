#include "core/kernels/huge_buffer.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// The number in a file that holds nothing else; `unlimited` where there is none ("max" in a control group).
std::size_t number_in(const char* path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? number : unlimited;
}

// "MemAvailable:   123 kB" among the lines of /proc/meminfo.
std::size_t system_available() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string unit;
  std::size_t kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return unlimited;
}

std::size_t control_group_available() {
  const std::size_t limit = number_in("/sys/fs/cgroup/memory.max");
  if (limit == unlimited) return unlimited;
  const std::size_t used = number_in("/sys/fs/cgroup/memory.current");
  return used >= limit ? 0 : limit - used;
}

std::size_t resource_limit(decltype(RLIMIT_DATA) which) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  return limit.rlim_cur;
}

std::string gibibytes(std::size_t bytes) {
  constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gibibyte);
}

std::size_t round_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

std::size_t available_memory() {
  return std::min({system_available(), control_group_available(), resource_limit(RLIMIT_DATA),
                   resource_limit(RLIMIT_AS)});
}

void require_bytes(std::size_t bytes, const std::string& what) {
  // Small requests are not worth a look at the system's files.
  constexpr std::size_t always_there = std::size_t{16} << 20;
  if (bytes <= always_there) return;
  const std::size_t available = available_memory();
  if (bytes > available) {
    throw Error(ErrorKind::usage, fmt::format("{} would need {} of memory; this machine has {} available",
                                              what, gibibytes(bytes), gibibytes(available)));
  }
}

template <class T>
HugeBuffer<T>::HugeBuffer(std::size_t count, const std::string& what) : count_(count) {
  if (count > unlimited / sizeof(T) - huge_page) {
    throw Error(ErrorKind::usage, fmt::format("{} would need more memory than can be addressed", what));
  }
  const std::size_t bytes = count * sizeof(T);
  require_bytes(bytes, what);
  const std::size_t alignment = bytes >= huge_page ? huge_page : cache_line;
  const std::size_t rounded = round_up(std::max(bytes, cache_line), alignment);
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("{} would need {} of memory, which the system refused", what, gibibytes(bytes)));
  }
  // A refusal costs speed only, so it is not looked at.
  if (alignment == huge_page) madvise(memory, rounded, MADV_HUGEPAGE);
  memory_.reset(static_cast<T*>(memory));
}

template <class T>
void HugeBuffer<T>::Free::operator()(T* memory) const {
  std::free(memory);
}

template class HugeBuffer<float>;
template class HugeBuffer<double>;
template class HugeBuffer<std::uint16_t>;
template class HugeBuffer<std::int8_t>;

}  // namespace attnlab
