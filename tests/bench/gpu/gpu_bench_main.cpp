// nanobench-gpu-bench: times the CUDA kernels on a GPU, and what LibTorch has instead of them. Google Benchmark's own
// options work.
#include <benchmark/benchmark.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "core/base/build_info.h"
#include "tests/bench/gpu/gpu_bench_support.h"
#include "tests/engine/cuda/gpu/gpu_problem.h"

namespace {

constexpr int kExitUsage = 2;

bool has_argument(int argc, char** argv, const std::string& wanted) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == wanted || argument == wanted + "=true") return true;
  }
  return false;
}

void add_context(int rounds) {
  benchmark::AddCustomContext("nanobench", nanobench::core::version_text());
  benchmark::AddCustomContext("libtorch", TORCH_VERSION);
  benchmark::AddCustomContext("gpu", nanobench::core::cuda::gpu_description());
  benchmark::AddCustomContext("rounds", std::to_string(rounds));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times the CUDA kernels, one call each, and what LibTorch has instead of them.", "nanobench-gpu-bench");
  int rounds = 20;
  app.add_option("--rounds", rounds, "rounds, each of which times every contestant once")->check(CLI::Range(2, 10000));
  app.footer(
      "Options of Google Benchmark: --benchmark_filter=REGEX, --benchmark_format=json, ...\n"
      "Names are operation/contestant/shape. of_own is the median of time over our kernel's in the same round: above "
      "1,\n"
      "ours is faster. distance is that of the result from ours, relative.");
  const bool lists = has_argument(argc, argv, "--benchmark_list_tests");
  if (!has_argument(argc, argv, "--help")) benchmark::Initialize(&argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "nanobench-gpu-bench: %s\n", error.what());
    return kExitUsage;
  }
  if (!lists) {
    const std::string problem = nanobench::core::cuda::gpu_problem();
    if (!problem.empty()) {
      std::fprintf(stderr, "nanobench-gpu-bench: %s\n", problem.c_str());
      return nanobench::core::cuda::kExitNoGpu;
    }
    add_context(rounds);
  }
  nanobench::gpu_bench::set_rounds(rounds);
  nanobench::gpu_bench::add_all_rows();
  const bool has_run = benchmark::RunSpecifiedBenchmarks() > 0;
  benchmark::Shutdown();
  return has_run ? 0 : kExitUsage;
}
