#include "core/kernels/thread_pool.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/kernels/huge_buffer.hpp"

namespace attnlab {

using Task = std::function<void(std::size_t index, std::size_t worker)>;

struct ThreadPool::State {
  std::vector<std::thread> threads;
  std::vector<HugeBuffer<float>> scratch;

  std::mutex mutex;
  std::condition_variable work_came;
  std::condition_variable work_done;
  std::size_t round = 0;  // counts calls of run, so that a worker takes part in each once
  bool open = false;      // whether there may be tasks left: a worker that wakes too late is not waited for
  std::size_t busy = 0;   // workers that take part now
  bool stopping = false;

  const Task* task = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;

  void work(std::size_t worker) {
    try {
      for (std::size_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
        (*task)(index, worker);
      }
    } catch (...) {
      next.store(count, std::memory_order_relaxed);
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void serve(std::size_t worker) {
    for (std::size_t seen = 0;;) {
      {
        std::unique_lock lock(mutex);
        work_came.wait(lock, [&] { return stopping || (open && round != seen); });
        if (stopping) return;
        seen = round;
        ++busy;
      }
      work(worker);
      const std::lock_guard lock(mutex);
      if (--busy == 0) work_done.notify_one();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    work_came.notify_all();
    for (std::thread& thread : threads) thread.join();
  }
};

std::size_t available_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const int count = known ? CPU_COUNT(&allowed) : static_cast<int>(std::thread::hardware_concurrency());
  return static_cast<std::size_t>(std::max(count, 1));
}

ThreadPool::ThreadPool(std::size_t num_threads) {
  constexpr std::size_t most = 1024;
  if (num_threads < 1 || num_threads > most) {
    throw Error(ErrorKind::usage, fmt::format("{} threads: must be from 1 to {}", num_threads, most));
  }
  state_ = std::make_unique<State>();
  state_->scratch.resize(num_threads);
  try {
    for (std::size_t worker = 1; worker < num_threads; ++worker) {
      state_->threads.emplace_back(&State::serve, state_.get(), worker);
    }
  } catch (const std::exception&) {
    state_->stop();
    throw Error(ErrorKind::usage, fmt::format("{} threads: the system refused to start them", num_threads));
  }
}

ThreadPool::~ThreadPool() { state_->stop(); }

std::size_t ThreadPool::num_threads() const { return state_->scratch.size(); }

void ThreadPool::run(std::size_t count, const Task& task) {
  State& state = *state_;
  {
    const std::lock_guard lock(state.mutex);
    state.task = &task;
    state.count = count;
    state.next.store(0, std::memory_order_relaxed);
    state.failure = nullptr;
    state.open = count > 1;  // one task alone is not worth waking anybody
    ++state.round;
  }
  if (count > 1) state.work_came.notify_all();
  state.work(0);
  std::unique_lock lock(state.mutex);
  state.open = false;
  state.work_done.wait(lock, [&] { return state.busy == 0; });
  if (state.failure) std::rethrow_exception(state.failure);
}

float* ThreadPool::scratch(std::size_t worker, std::size_t count) {
  HugeBuffer<float>& buffer = state_->scratch[worker];
  if (buffer.size() < count) buffer = HugeBuffer<float>(count, "working memory of a thread");
  return buffer.data();
}

}  // namespace attnlab
