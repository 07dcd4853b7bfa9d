// Threads that wait without using the processor and share out numbered tasks, each with memory of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace attnlab {

/// The number of processors this process may use, at least 1.
std::size_t available_processors();

/// A fixed number of threads, the calling one among them: a pool of one starts none.
/// One thread at a time may use a pool, and tasks must not use the pool they run in.
class ThreadPool {
 public:
  /// `num_threads` of at least 1; throws Error(usage) for 0 or more than 1024.
  explicit ThreadPool(std::size_t num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t num_threads() const;

  /// Runs task(index, worker) once for each index in [0, count) and returns when all are done. Indices are
  /// handed out in ascending order to whoever is free; `worker` in [0, num_threads) names the thread.
  /// Rethrows the first exception of a task; tasks not yet begun are then dropped.
  void run(std::size_t count, const std::function<void(std::size_t index, std::size_t worker)>& task);

  /// Memory of `worker` for `count` floats, aligned to a cache line; kept between calls, contents undefined.
  /// Throws Error(usage) where the machine lacks it.
  float* scratch(std::size_t worker, std::size_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attnlab
