#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/kernels/thread_pool.hpp"
#include "support/paths.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

TEST_CASE("thread pool: every task runs once whatever the threads") {
  for (const std::size_t num_threads : {1, 2, 3, 7}) {
    ThreadPool pool(num_threads);
    CHECK(pool.num_threads() == num_threads);
    for (const std::size_t count : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> runs(count);
      std::atomic<bool> strange_worker{false};
      pool.run(count, [&](std::size_t index, std::size_t worker) {
        ++runs[index];
        if (worker >= num_threads) strange_worker = true;
      });
      for (const auto& number : runs) CHECK(number == 1);
      CHECK_FALSE(strange_worker);
    }
  }
}

TEST_CASE("thread pool: one thread takes the tasks in order") {
  ThreadPool pool(1);
  std::vector<std::size_t> order;
  pool.run(5, [&](std::size_t index, std::size_t) { order.push_back(index); });
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE("thread pool: the exception of a task reaches the caller and the pool stays usable") {
  for (const std::size_t num_threads : {1, 3}) {
    ThreadPool pool(num_threads);
    const auto fail_at_7 = [](std::size_t index, std::size_t) {
      if (index == 7) throw std::runtime_error("seven");
    };
    CHECK_THROWS_WITH_AS(pool.run(1000, fail_at_7), "seven", std::runtime_error);
    std::atomic<int> sum{0};
    pool.run(10, [&](std::size_t index, std::size_t) { sum += static_cast<int>(index); });
    CHECK(sum == 45);
  }
}

TEST_CASE("thread pool: scratch is aligned and kept between calls") {
  ThreadPool pool(2);
  float* first = pool.scratch(1, 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
  first[999] = 5.0f;
  CHECK(pool.scratch(1, 500) == first);
  CHECK(pool.scratch(0, 500) != first);
}

TEST_CASE("thread pool: no thread and too many are refused") {
  CHECK_THROWS_WITH_AS(ThreadPool(0), "0 threads: must be from 1 to 1024", Error);
  CHECK_THROWS_WITH_AS(ThreadPool(1025), "1025 threads: must be from 1 to 1024", Error);
  CHECK(available_processors() >= 1);
}

// Sanitizers need terabytes of address space.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("thread pool: threads that the system does not start are an error") {
  const Scratch scratch;
  const std::string x = scratch.file("x.json", "[[1, 2]]");
  const std::string command = fmt::format(
      "ulimit -v 2000000; timeout 20 '{}' op attention --query '{}' --key '{}' --value '{}' --dtype float32 "
      "--threads 1000 2>&1 | grep -qx 'attnlab: 1000 threads: the system refused to start them'",
      attnlab_binary, x, x, x);
  CHECK(std::system(command.c_str()) == 0);
}
#endif
