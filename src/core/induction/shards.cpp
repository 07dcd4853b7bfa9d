#include "core/induction/shards.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace attnlab {

void for_each_shard(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(count, 1));
  std::vector<std::exception_ptr> failures(threads);
  const auto run = [&](std::size_t thread) {
    try {
      for (std::size_t shard = thread; shard < count; shard += threads) work(shard);
    } catch (...) {
      failures[thread] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (std::size_t thread = 1; thread < threads; ++thread) workers.emplace_back(run, thread);
    run(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace attnlab
