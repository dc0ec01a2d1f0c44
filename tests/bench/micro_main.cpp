// nanobench-micro: times single operations of the engine against their references. Google Benchmark's own options work.
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <benchmark/benchmark.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "core/base/build_info.h"
#include "core/hardware/processors.h"
#include "engine/train/process_settings.h"
#include "tests/bench/bench_support.h"

namespace {

using nanobench::bench::BenchOptions;
using nanobench::bench::kBlockTokens;
using nanobench::bench::ModelShape;

constexpr int kExitUsage = 2;

/// Without a shape on the command line: those that training steps are measured at.
std::vector<ModelShape> standard_shapes() {
  return {{.length = 1024, .window = 256}, {.length = 2048, .window = 256}, {.length = 8192, .window = 512}};
}

/// A check of CLI11: what is wrong with `text`, or "".
std::string wrong_number(const std::string& text, std::int64_t unit) {
  constexpr std::size_t kMaxDigits = 9;
  const bool is_number = !text.empty() && text.size() <= kMaxDigits &&
                         text.find_first_not_of("0123456789") == std::string::npos && std::stoll(text) > 0;
  if (!is_number) return "expected a whole number above 0, got '" + text + "'";
  return std::stoll(text) % unit == 0 ? "" : "expected a multiple of " + std::to_string(unit) + ", got " + text;
}

void add_options(CLI::App& app, ModelShape& shape, int& threads) {
  const auto add = [&app](const char* name, auto& value, const char* text, std::int64_t unit = 1) {
    app.add_option(name, value, text)->check([unit](const std::string& given) { return wrong_number(given, unit); });
  };
  add("--seq", shape.length, "tokens of a sequence", kBlockTokens);
  add("--window", shape.window, "attention window in tokens");
  add("--dim", shape.dim, "width of the model");
  add("--heads", shape.heads, "attention heads");
  add("--layers", shape.layers, "blocks");
  add("--vocab", shape.vocab, "vocabulary");
  add("--threads", threads, "threads of each case that does not say otherwise");
  app.footer(
      "Options of Google Benchmark: --benchmark_filter=REGEX, --benchmark_format=json, ...\n"
      "Without a shape the standard ones are measured. Names are operation/path/shape; `engine` is what a run takes.");
}

void add_context(int threads) {
  benchmark::AddCustomContext("nanobench", nanobench::core::version_text());
  benchmark::AddCustomContext("libtorch", TORCH_VERSION);
  benchmark::AddCustomContext("libtorch_cpu", at::get_cpu_capability());
  benchmark::AddCustomContext("cpu_path", nanobench::enum_name(nanobench::core::best_cpu_path()));
  benchmark::AddCustomContext("threads", std::to_string(threads));
}

}  // namespace

int main(int argc, char** argv) {
  nanobench::core::restart_with_settings(argv);
  nanobench::core::keep_freed_memory();
  CLI::App app("Times single operations of the engine: one call each, forward and backward.", "nanobench-micro");
  ModelShape shape;
  BenchOptions options{.shapes = {}, .threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  add_options(app, shape, options.threads);
  bool is_help = false;
  for (int i = 1; i < argc; ++i) is_help = is_help || std::string(argv[i]) == "--help";
  if (!is_help) benchmark::Initialize(&argc, argv);
  try {
    app.parse(argc, argv);
    if (shape.dim % shape.heads != 0 || shape.head_dim() % 4 != 0)
      throw CLI::ValidationError("--dim", "expected a multiple of 4 x --heads");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "nanobench-micro: %s\n", error.what());
    return kExitUsage;
  }
  const bool names_shape = app.count("--seq") + app.count("--window") + app.count("--dim") + app.count("--heads") +
                               app.count("--layers") + app.count("--vocab") >
                           0;
  options.shapes = names_shape ? std::vector<ModelShape>{shape} : standard_shapes();
  add_context(options.threads);
  nanobench::bench::add_all_cases(options);
  const bool has_run = benchmark::RunSpecifiedBenchmarks() > 0;
  benchmark::Shutdown();
  return has_run ? 0 : kExitUsage;
}
