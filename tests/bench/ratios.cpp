// The goals of the kernels as ratios, each measured against its yardstick in turns within one process:
//
//   ratios [--threads N] [--rounds N] [--instruction-set NAME] [--only TEXT]
//       lines "NAME measured goal floor"
//   ratios worker LENGTH WIDTH HEADS KV_HEADS CAUSAL THREADS
//       a contestant for peers.py
//
// One thread is timed by its own CPU time, which neighbours on the machine hardly touch; several by the
// clock, and a line then ends with "stolen" where the processors were not ours: CPU time below 0.9 of the
// clock for each thread. The ratio is the better of best against best and median against median. Exit status
// 1 when one is below its floor.
#include <cblas.h>
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/blas.hpp"
#include "core/error.hpp"
#include "core/kernels/cached_attention.hpp"
#include "core/kernels/flash_attention.hpp"
#include "core/kernels/huge_buffer.hpp"
#include "core/kernels/row_softmax.hpp"
#include "core/kernels/textbook_attention.hpp"
#include "core/random/seed_sequence.hpp"
#include "core/random/ziggurat.hpp"

namespace attnlab {
namespace {

struct Settings {
  std::size_t threads = 1;
  std::size_t rounds = 9;
  std::optional<InstructionSet> instruction_set;
  std::string only;
};

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

HugeBuffer<float> normals(std::size_t count, double scale = 1.0) {
  HugeBuffer<float> numbers(count, "input");
  Pcg64 bits(SeedSequence(466));
  for (float& number : numbers.elements()) number = static_cast<float>(scale * draw_normal(bits));
  return numbers;
}

/// Something to time and how much it does; the ratio of two is that of their rates.
struct Contestant {
  double work;
  std::function<void()> run;
};

/// What a ratio should be and what it must be; 0 for a ratio that only explains others.
struct Goal {
  std::string name;
  double goal = 0;
  double floor = 0;
};

struct Times {
  std::vector<double> samples;
  double best() const { return *std::min_element(samples.begin(), samples.end()); }
  double median() const {
    std::vector<double> sorted = samples;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                     sorted.end());
    return sorted[sorted.size() / 2];
  }
};

/// Runs contests and prints their lines.
class Judge {
 public:
  explicit Judge(const Settings& settings) : settings_(settings) {}

  bool wanted(const std::string& name) const { return name.find(settings_.only) != std::string::npos; }

  void compare(const Goal& goal, const Contestant& ours, const Contestant& yardstick) {
    if (!wanted(goal.name)) return;
    stolen_ = false;
    Times our_times;
    Times their_times;
    ours.run();
    yardstick.run();
    for (std::size_t round = 0; round < settings_.rounds; ++round) {
      our_times.samples.push_back(time_of(ours));
      their_times.samples.push_back(time_of(yardstick));
    }
    const double work = ours.work / yardstick.work;
    const double measured =
        work * std::max(their_times.best() / our_times.best(), their_times.median() / our_times.median());
    failed_ = failed_ || !(measured >= goal.floor);
    fmt::print("{} {:.3f} {} {}{}\n", goal.name, measured, goal.goal, goal.floor, stolen_ ? " stolen" : "");
    std::cout.flush();
  }

  bool failed() const { return failed_; }

 private:
  // Seconds of one run, repeated until the clock can see it.
  double time_of(const Contestant& contestant) {
    constexpr double long_enough = 0.02;
    const bool alone = settings_.threads == 1;
    // OpenBLAS's threads go on spinning for a while after their work, on a processor that is then not ours.
    if (!alone) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    for (std::size_t repeats = 1;; repeats *= 4) {
      const double wall = seconds(CLOCK_MONOTONIC);
      const double cpu = seconds(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID);
      for (std::size_t i = 0; i < repeats; ++i) contestant.run();
      const double cpu_used = seconds(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID) - cpu;
      const double wall_used = seconds(CLOCK_MONOTONIC) - wall;
      const double used = alone ? cpu_used : wall_used;
      if (used < long_enough) continue;
      if (!alone && cpu_used < 0.9 * wall_used * static_cast<double>(settings_.threads)) stolen_ = true;
      return used / static_cast<double>(repeats);
    }
  }

  Settings settings_;
  bool stolen_ = false;
  bool failed_ = false;
};

struct Shape {
  std::size_t length;
  std::size_t width;
  std::size_t heads;
  std::size_t kv_heads;
  bool causal;
};

/// Attention of drawn numbers, and what it writes.
class Problem {
 public:
  Problem(const Shape& shape, const Settings& settings, double query_scale = 1.0)
      : shape_(shape),
        query_(normals(shape.heads * shape.length * shape.width, query_scale)),
        key_(normals(shape.kv_heads * shape.length * shape.width)),
        value_(normals(shape.kv_heads * shape.length * shape.width)),
        output_(normals(shape.heads * shape.length * shape.width)),
        threads_(settings.threads) {
    options_.causal = shape.causal;
    options_.instruction_set = settings.instruction_set;
  }

  Contestant flash() {
    return {operations(), [this] { flash_attention(inputs(), output(), options_, threads_); }};
  }
  Contestant textbook() {
    return {operations(), [this] { textbook_attention(inputs(), output(), options_, threads_); }};
  }

 private:
  // Useful ones: hidden pairs do not count.
  double operations() const {
    const double pairs = static_cast<double>(shape_.length) * static_cast<double>(shape_.length);
    return 4.0 * pairs * static_cast<double>(shape_.width * shape_.heads) * (shape_.causal ? 0.5 : 1.0);
  }
  HeadView<const float> view(const HugeBuffer<float>& numbers) const {
    return heads_in_turn(numbers.data(), shape_.length, shape_.width);
  }
  HeadView<float> output() { return heads_in_turn(output_.data(), shape_.length, shape_.width); }
  FlashInputs inputs() const {
    return {view(query_),  view(key_),    view(value_), shape_.heads, shape_.kv_heads,
            shape_.length, shape_.length, shape_.width, shape_.width};
  }

  Shape shape_;
  HugeBuffer<float> query_;
  HugeBuffer<float> key_;
  HugeBuffer<float> value_;
  HugeBuffer<float> output_;
  FlashOptions options_;
  ThreadPool threads_;
};

std::string text_of(const Shape& shape) {
  return fmt::format("t{}-d{}-{}", shape.length, shape.width, shape.causal ? "causal" : "full");
}

Contestant square_product(const HugeBuffer<float>& a, const HugeBuffer<float>& b, HugeBuffer<float>& product,
                          std::size_t size) {
  const double volume = static_cast<double>(size * size * size);
  return {2.0 * volume, [&a, &b, &product, size] {
            const int n = static_cast<int>(size);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a.data(), n, b.data(), n,
                        0.0f, product.data(), n);
          }};
}

/// Attention against the square product of OpenBLAS.
void judge_products(Judge& judge, const Settings& settings) {
  constexpr std::size_t size = 2048;
  const HugeBuffer<float> a = normals(size * size);
  const HugeBuffer<float> b = normals(size * size);
  HugeBuffer<float> product = normals(size * size);
  const Contestant sgemm = square_product(a, b, product, size);
  const bool narrow = settings.instruction_set == InstructionSet::avx2;
  const std::string prefix =
      fmt::format("{}-over-sgemm-", settings.instruction_set ? name_of(*settings.instruction_set) : "flash");
  for (const bool causal : {false, true}) {
    for (const std::size_t width : {64, 128}) {
      for (const Shape& shape : {Shape{4096, width, 2, 2, causal}, Shape{16384, width, 1, 1, causal}}) {
        const std::string name = prefix + text_of(shape);
        if (!judge.wanted(name)) continue;
        Problem problem(shape, settings);
        judge.compare({name, narrow ? 0.95 : 1.1, narrow ? 0.8 : 0.85}, problem.flash(), sgemm);
      }
      if (narrow) continue;
      const Shape shape{1024, width, 12, 12, causal};
      const std::string name = prefix + text_of(shape);
      if (!judge.wanted(name)) continue;
      Problem problem(shape, settings);
      judge.compare({name, causal ? 0.85 : 0.95, causal ? 0.6 : 0.75}, problem.flash(), sgemm);
    }
  }
}

/// Fused multiply-adds that wait for nothing: no product of matrices can be faster.
__attribute__((target("avx512f"))) void multiply_and_add(std::size_t count) {
  __m512 sums[24] = {};
  const __m512 half = _mm512_set1_ps(0.5f);
  // The compiler must not know that all sums are equal, nor that nobody reads them.
  for (__m512& sum : sums) asm volatile("" : "+v"(sum));
  for (std::size_t i = 0; i < count; ++i) {
#pragma GCC unroll 24
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, half, half);
  }
  for (__m512& sum : sums) asm volatile("" : "+v"(sum));
}

/// How near OpenBLAS and attention on vectors come to that, which needs 14 more operations a vector of scores
/// for softmax beside the 2 * width of the products and cannot come nearer than 2 * width / (2 * width + 14).
void judge_peak(Judge& judge, const Settings& settings) {
  if (settings.threads != 1 || best_instruction_set() < InstructionSet::avx512) return;
  Settings vectors = settings;
  vectors.instruction_set = InstructionSet::avx512;
  constexpr std::size_t rounds = 1000000;
  const Contestant peak{rounds * 24 * 32.0, [] { multiply_and_add(rounds); }};
  constexpr std::size_t size = 2048;
  const HugeBuffer<float> a = normals(size * size);
  HugeBuffer<float> product = normals(size * size);
  judge.compare({"sgemm-over-fma-peak"}, square_product(a, a, product, size), peak);
  for (const bool causal : {false, true}) {
    for (const std::size_t width : {64, 128}) {
      const Shape shape{4096, width, 2, 2, causal};
      Problem problem(shape, vectors);
      judge.compare({"avx512-over-fma-peak-" + text_of(shape)}, problem.flash(), peak);
    }
  }
}

void judge_methods(Judge& judge, const Settings& settings) {
  for (const bool causal : {false, true}) {
    const std::string name = fmt::format("flash-over-textbook-{}", text_of({4096, 64, 1, 1, causal}));
    if (!judge.wanted(name)) continue;
    Problem problem({4096, 64, 1, 1, causal}, settings);
    judge.compare({name, causal ? 4.0 : 2.5, causal ? 3.0 : 1.8}, problem.flash(), problem.textbook());
  }
  Problem easy({2048, 64, 2, 2, false}, settings);
  Problem peaked({2048, 64, 2, 2, false}, settings, 30.0);
  judge.compare({"flash-peaked-over-easy", 0.91, 0.77}, peaked.flash(), easy.flash());
}

// A volatile place keeps the sums, so that they are computed.
volatile std::uint64_t sink;

void read_all(const void* memory, std::size_t bytes) {
  const auto* words = static_cast<const std::uint64_t*>(memory);
  std::uint64_t sums[32] = {};
  constexpr std::size_t ahead = 512;  // words; without it a plain loop reads more slowly than decoding does
  for (std::size_t i = 0; i + 32 <= bytes / sizeof(std::uint64_t); i += 32) {
    for (std::size_t line = 0; line < 32; line += 8) __builtin_prefetch(words + i + ahead + line, 0, 2);
    for (std::size_t lane = 0; lane < 32; ++lane) sums[lane] += words[i + lane];
  }
  for (std::size_t lane = 1; lane < 32; ++lane) sums[0] += sums[lane];
  sink = sums[0];
}

/// One token against its cache: a pure read of the same bytes is the limit.
void judge_cache(Judge& judge, const Settings& settings, const Shape& shape, const Goal& read_goal,
                 const std::optional<Goal>& int8_goal) {
  if (!judge.wanted(read_goal.name) && !(int8_goal && judge.wanted(int8_goal->name))) return;
  const std::size_t count = shape.kv_heads * shape.length * shape.width;
  const HugeBuffer<float> query = normals(shape.heads * shape.width);
  const HugeBuffer<float> key = normals(count);
  const HugeBuffer<float> value = normals(count);
  const Int8Rows key_rows = to_int8(key.elements(), shape.width);
  const Int8Rows value_rows = to_int8(value.elements(), shape.width);
  HugeBuffer<std::int8_t> key_codes(count, "codes");
  HugeBuffer<std::int8_t> value_codes(count, "codes");
  std::copy(key_rows.codes.begin(), key_rows.codes.end(), key_codes.data());
  std::copy(value_rows.codes.begin(), value_rows.codes.end(), value_codes.data());
  const CacheView floats = whole_cache(key.data(), value.data(), shape.kv_heads, shape.length, shape.width);
  CacheView bytes = floats;
  bytes.type = CacheType::int8;
  bytes.key = key_codes.data();
  bytes.value = value_codes.data();
  bytes.key_scale = key_rows.scales.data();
  bytes.value_scale = value_rows.scales.data();
  std::vector<float> output(shape.heads * shape.width);
  ThreadPool threads(settings.threads);
  const auto decode = [&](const CacheView& cache) {
    return Contestant{
        1.0,
        [&] { cached_attention(query.elements(), cache, output, threads, {}, settings.instruction_set); }};
  };
  // In pieces of the size of a task, handed out in the same way.
  constexpr std::size_t piece = std::size_t{64} << 10;
  const Contestant read{1.0, [&] {
                          threads.run(2 * count / piece, [&](std::size_t index, std::size_t) {
                            const std::size_t first = index / 2 * piece;
                            read_all((index % 2 ? value : key).data() + first, piece * sizeof(float));
                          });
                        }};
  judge.compare(read_goal, decode(floats), read);
  if (int8_goal) judge.compare(*int8_goal, decode(bytes), decode(floats));
}

void judge_caches(Judge& judge, const Settings& settings) {
  judge_cache(judge, settings, {4096, 64, 12, 12, false}, {"decode-over-read-t4096-d64-12to12", 0.9, 0.75},
              Goal{"decode-int8-over-float32-t4096-d64-12to12", 2.5, 1.8});
  judge_cache(judge, settings, {16384, 128, 8, 8, false}, {"decode-over-read-t16384-d128-8to8", 0.9, 0.75},
              Goal{"decode-int8-over-float32-t16384-d128-8to8", 2.5, 1.8});
  judge_cache(judge, settings, {4096, 128, 32, 8, false}, {"decode-over-read-t4096-d128-32to8", 0.8, 0.6},
              {});
  judge_cache(judge, settings, {16384, 128, 32, 8, false}, {"decode-over-read-t16384-d128-32to8", 0.8, 0.6},
              {});
}

/// Answers each line of input with the seconds of one run, by the clock and by CPU time.
void serve(const std::function<void()>& run) {
  run();
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const double wall = seconds(CLOCK_MONOTONIC);
    const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    run();
    const double cpu_used = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    std::cout << fmt::format("{:.9f} {:.9f}", seconds(CLOCK_MONOTONIC) - wall, cpu_used) << std::endl;
  }
}

void serve_attention(const Shape& shape, std::size_t num_threads) {
  Settings settings;
  settings.threads = num_threads;
  Problem problem(shape, settings);
  serve(problem.flash().run);
}

void serve_softmax(std::size_t length, std::size_t num_threads) {
  const HugeBuffer<float> scores = normals(length * length);
  HugeBuffer<float> weights = normals(length * length);
  ThreadPool threads(num_threads);
  serve([&] { softmax_rows(scores.data(), weights.data(), length, length, 1.0f, threads); });
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(ErrorKind::usage, fmt::format("{}: a whole number was expected", text));
  }
  return value;
}

Settings settings_of(const std::vector<std::string>& arguments) {
  Settings settings;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    const std::string& value = arguments[i + 1];
    if (name == "--threads") {
      settings.threads = number(value);
    } else if (name == "--rounds") {
      settings.rounds = std::max<std::size_t>(1, number(value));
    } else if (name == "--instruction-set") {
      settings.instruction_set = usable_instruction_set(instruction_set_named(value));
    } else if (name == "--only") {
      settings.only = value;
    } else {
      throw Error(ErrorKind::usage, name + ": unknown option");
    }
  }
  return settings;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 7 && arguments[0] == "worker") {
    serve_attention({number(arguments[1]), number(arguments[2]), number(arguments[3]), number(arguments[4]),
                     number(arguments[5]) != 0},
                    number(arguments[6]));
    return 0;
  }
  if (arguments.size() == 3 && arguments[0] == "softmax-worker") {
    serve_softmax(number(arguments[1]), number(arguments[2]));
    return 0;
  }
  const Settings settings = settings_of(arguments);
  set_blas_threads(settings.threads);
  Judge judge(settings);
  judge_products(judge, settings);
  if (!settings.instruction_set) {
    judge_peak(judge, settings);
    judge_methods(judge, settings);
    judge_caches(judge, settings);
  }
  return judge.failed() ? 1 : 0;
}

}  // namespace
}  // namespace attnlab

int main(int argc, char** argv) {
  try {
    return attnlab::run({argv + 1, argv + argc});
  } catch (const attnlab::Error& error) {
    std::cerr << "ratios: " << error.what() << '\n';
    return 2;
  }
}
