// `nanobench doctor`: what is installed, what is missing, and what each missing part would enable.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>

#include "core/base/build_info.h"
#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/config/kernel_coverage.h"
#include "core/hardware/nvml.h"
#include "core/hardware/processors.h"
#include "core/process/command.h"
#include "results/provenance.h"
#include "results/store.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

constexpr double kEngineSeconds = 30.0;  ///< LibTorch may come from a slow disk the first time
constexpr double kMinFreeBytes = 1e9;

constexpr long kCudaOfLibTorch = 13;  // the major version that LibTorch is built with: tools/setup/libtorch.json
constexpr const char* kDoctorFooter =
    "Examples:\n"
    "  nanobench doctor\n"
    "  nanobench doctor --json\n"
    "\n"
    "Exit codes: 0 `nanobench run` can work here, 2 something that it needs is missing.";

enum class CheckStatus {
  kOk,
  kAbsent,   ///< optional and not installed
  kMissing,  ///< `run` needs it
};
NB_ENUM_NAMES(CheckStatus, {CheckStatus::kOk, "ok"}, {CheckStatus::kAbsent, "absent"},
              {CheckStatus::kMissing, "missing"});

struct Check {
  std::string id;
  std::string title;
  CheckStatus status;
  std::string found;
  std::string enables;
};

Check check_program() {
  const core::BuildInfo& build = core::build_info();
  return {"nanobench", "nanobench", CheckStatus::kOk,
          core::version_text() + ", " + build.compiler + ", " + build.build_type, "all commands except training"};
}

/// The engine, and the LibTorch that it reports.
std::vector<Check> check_engine() {
  const fs::path program = engine_program();
  Check engine{"engine", "engine", CheckStatus::kMissing, program.string() + " does not exist",
               "training; `./nanobench setup` builds it"};
  Check torch{"libtorch", "LibTorch", CheckStatus::kMissing, "unknown without the engine", "training"};
  if (access(program.c_str(), X_OK) != 0) return {engine, torch};
  const core::CommandResult answer = core::run_command({program.string(), "--build-info"}, {.seconds = kEngineSeconds});
  if (!answer.is_success()) {
    engine.found =
        program.string() + (answer.is_timed_out
                                ? " does not answer"
                                : " does not start: " + first_line(answer.err.empty() ? answer.out : answer.err));
    return {engine, torch};
  }
  const core::Json facts = core::json_or_null(answer.out);
  if (!facts.is_object()) {
    engine.found = program.string() + " does not describe itself: it is another program, or an older one";
    return {engine, torch};
  }
  engine.status = torch.status = CheckStatus::kOk;
  engine.found = program.filename().string() + " " + core::string_in(facts, "version", "unknown") + ", " +
                 core::string_in(facts, "cpu_capability");
  engine.enables = "training";
  torch.found = core::string_in(facts, "libtorch", "unknown");
  return {engine, torch};
}

std::string driver_text(const core::GpuFacts& facts) {
  std::string text = facts.driver.empty() ? "unknown version" : printable(facts.driver);
  if (facts.cuda_driver.empty()) return text;
  text += ", runs programs for CUDA " + facts.cuda_driver + " and older";
  if (std::strtol(facts.cuda_driver.c_str(), nullptr, 10) < kCudaOfLibTorch)
    text += ": too old for LibTorch, which is built with CUDA " + std::to_string(kCudaOfLibTorch);
  return text;
}

Check driver_check(const core::GpuList& gpus) {
  Check check{"nvidia_driver", "NVIDIA driver", CheckStatus::kAbsent, printable(gpus.problem),
              "GPUs, and their clocks, power and other users during each run"};
  if (gpus.devices.empty()) return check;
  check.status = CheckStatus::kOk;
  check.found = driver_text(gpus.devices.front().facts());
  if (!gpus.problem.empty()) check.found += "; " + printable(gpus.problem);
  return check;
}

/// "NVIDIA H100 80GB HBM3, 79.6 GiB, limit 700 W, up to 1980 MHz, in use by 2 processes"
std::string gpu_text(const core::GpuFacts& facts, const core::GpuState& state) {
  std::string text = printable(facts.name);
  if (facts.memory_bytes) text += ", " + format_bytes(static_cast<double>(*facts.memory_bytes));
  if (facts.power_limit_w) text += ", limit " + format_significant(*facts.power_limit_w, 3) + " W";
  if (facts.max_sm_clock_mhz) text += ", up to " + format_fixed(*facts.max_sm_clock_mhz, 0) + " MHz";
  if (facts.has_mig.value_or(false)) text += ", split into instances (MIG)";
  if (!facts.is_persistent.value_or(true)) text += ", persistence mode off: its first use is slow";
  if (state.processes && !state.processes->empty()) {
    const std::size_t count = state.processes->size();
    text += ", in use by " + counted(static_cast<std::int64_t>(count), "process", "processes") + ": times are doubtful";
  }
  return text;
}

/// The NVIDIA driver and each GPU that it lists.
std::vector<Check> gpu_checks() {
  const core::GpuList gpus = core::list_gpus();
  std::vector<Check> checks = {driver_check(gpus)};
  for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
    const std::string number = std::to_string(i);
    checks.push_back({"gpu_" + number, "GPU " + number, CheckStatus::kOk,
                      gpu_text(gpus.devices[i].facts(), gpus.devices[i].state()),
                      "training on it, with the GPU plugin"});
  }
  return checks;
}

/// The engine loads the plugin and says so, or why not: a library that the plugin needs may be missing.
Check loaded_gpu_plugin(const fs::path& file) {
  Check check{"gpu_plugin", "GPU plugin", CheckStatus::kAbsent, "",
              "training on NVIDIA GPUs; without it runs use the CPU"};
  const core::CommandResult answer =
      core::run_command({engine_program().string(), "--plugin-info"}, {.seconds = kEngineSeconds});
  if (!answer.is_success()) {
    const std::string reason = printable(first_line(answer.err.empty() ? answer.out : answer.err));
    check.found = file.string() + (answer.is_timed_out ? " does not answer" : " does not load: " + reason);
    return check;
  }
  check.status = CheckStatus::kOk;
  check.found = file.string();
  check.enables = "training on NVIDIA GPUs";
  return check;
}

Check check_gpu_plugin(bool has_gpu) {
  const fs::path folder = engine_program().parent_path();
  std::error_code ignored;
  for (const fs::path& file :
       {folder / "libnanobench_cuda.so", folder.parent_path() / "lib" / "libnanobench_cuda.so"}) {
    if (fs::exists(file, ignored)) return loaded_gpu_plugin(file);
  }
  return {"gpu_plugin", "GPU plugin", CheckStatus::kAbsent,
          std::string("libnanobench_cuda.so is not installed; ") +
              (has_gpu ? "this machine's NVIDIA GPU is not used" : "no NVIDIA GPU is visible either"),
          "training on NVIDIA GPUs; without it runs use the CPU"};
}

Check check_cpu() {
  const results::MachineInfo machine = results::machine_info();
  return {"cpu", "processor", CheckStatus::kOk,
          machine.cpu_model + ", " + std::to_string(machine.cores) + " usable cores, " +
              format_bytes(static_cast<double>(machine.memory_bytes)) + " memory",
          "a run uses all usable cores unless --threads limits them"};
}

/// The parts of a step that the engine has kernels for, from the table that it chooses by.
Check check_kernels() {
  const auto parts = [](core::KernelDevice device) {
    std::vector<std::string> names;
    for (const core::KernelRow& row : core::kernel_table())
      if (row.device == device) names.emplace_back(enum_name(row.part));
    return enum_name(device) + ": " + joined(names);
  };
  return {"kernels", "engine's kernels", CheckStatus::kOk,
          parts(core::KernelDevice::kCpu) + "; " + parts(core::KernelDevice::kGpu),
          "speed; the settings that each kernel needs are in docs/kernels.md"};
}

/// Words of the first "flags" (x86) or "Features" (ARM) line.
std::vector<std::string> cpu_flags() {
  std::istringstream in(core::read_beginning("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(std::min(line.find(':') + 1, line.size())));
    return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
  }
  return {};
}

/// The code path of the engine's kernels on this machine (also recorded with every run).
Check check_vector_path() {
  std::vector<std::string> others;
  for (const core::CpuPath path : core::available_cpu_paths()) {
    if (path != core::best_cpu_path()) others.emplace_back(enum_name(path));
  }
  return {"vector_path", "vector path", CheckStatus::kOk,
          enum_name(core::best_cpu_path()) + (others.empty() ? "" : "; also available: " + joined(others)),
          "the kernels of attention, blocks, head and optimisers"};
}

/// How settings in bfloat16 are computed (also recorded with every run).
Check check_bfloat16_path() {
  const core::Bfloat16Path path = core::best_bfloat16_path(core::best_cpu_path());
  return {"bfloat16", "bfloat16 path", CheckStatus::kOk,
          path == core::Bfloat16Path::kEmulated ? "emulated: float32 arithmetic, rounded where it is stored"
                                                : enum_name(path),
          "matrix products and Newton-Schulz iterations of settings in bfloat16"};
}

std::vector<Check> check_cpu_features() {
  constexpr const char* kBfloat16 = "products of bfloat16 matrices, where it is faster than float32 (see bfloat16)";
  constexpr const char* kNotUsed = "nothing: every processor with AMX also has AVX-512 BF16";
  struct Wanted {
    const char* id;
    const char* title;
    std::vector<std::string> flags;
    const char* enables;
  };
  const std::vector<Wanted> wanted = {
      {"avx2", "AVX2", {"avx2", "fma"}, "the fast float32 kernels"},
      {"avx512", "AVX-512", {"avx512f", "avx512bw", "avx512vl", "avx512dq"}, "wider float32 kernels"},
      {"avx512_bf16", "AVX-512 BF16", {"avx512_bf16"}, kBfloat16},
      {"amx", "AMX", {"amx_tile", "amx_bf16"}, kNotUsed},
  };
  const std::vector<std::string> flags = cpu_flags();
  std::vector<Check> checks;
  for (const Wanted& item : wanted) {
    bool has_all = true;
    for (const std::string& flag : item.flags) {
      has_all = has_all && std::find(flags.begin(), flags.end(), flag) != flags.end();
    }
    checks.push_back({item.id, item.title, has_all ? CheckStatus::kOk : CheckStatus::kAbsent,
                      has_all ? "the processor has it" : "the processor does not have it", item.enables});
  }
  return checks;
}

/// The nearest existing folder above `path`, where space and permissions are checked.
fs::path existing_parent(fs::path path) {
  std::error_code ignored;
  path = fs::absolute(path, ignored);
  while (!path.empty() && !fs::is_directory(path, ignored) && path != path.parent_path()) path = path.parent_path();
  return path;
}

std::string space_text(const fs::path& folder, bool& is_low) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) return "";
  is_low = static_cast<double>(space.available) < kMinFreeBytes;
  return ", " + format_bytes(static_cast<double>(space.available)) + " free" + (is_low ? " (low)" : "");
}

Check check_folder(const char* id, const char* title, const fs::path& folder, const char* enables) {
  const fs::path existing = existing_parent(folder);
  bool is_low = false;
  const bool is_writable = access(existing.c_str(), W_OK) == 0;
  std::string found = folder.string();
  if (existing != fs::absolute(folder)) found += " (will be created)";
  found += space_text(existing, is_low);
  if (!is_writable) found += ", not writable: set XDG_CACHE_HOME to a folder that you may write to";
  return {id, title, is_writable ? CheckStatus::kOk : CheckStatus::kMissing, found, enables};
}

Check check_database() {
  const fs::path file = database_file("");
  std::error_code ignored;
  Check check{"database", "database", CheckStatus::kOk, file.string(), "stored runs, reports"};
  if (!fs::exists(file, ignored)) {
    bool is_low = false;
    const fs::path existing = existing_parent(file.parent_path());
    check.found += " (will be created)" + space_text(existing, is_low);
    if (access(existing.c_str(), W_OK) != 0) {
      check.status = CheckStatus::kMissing;
      check.found += ", its folder is not writable: name another with --db or NANOBENCH_DB";
    }
    return check;
  }
  try {
    const results::Store store(file, results::OpenMode::kReadOnly);
    check.found += ", " + std::to_string(store.runs().size()) + " runs";
  } catch (const core::Error& error) {
    rethrow_internal(error);
    check.status = CheckStatus::kMissing;
    check.found = error.what();
  }
  return check;
}

Check check_catalogue() {
  const ablations::Catalogue catalogue = ablations::Catalogue::embedded();
  return {"catalogue", "catalogue", CheckStatus::kOk,
          std::to_string(catalogue.features().size()) + " features, " + std::to_string(catalogue.records().size()) +
              " records, " + std::to_string(catalogue.scales().size()) + " scales, " +
              std::to_string(catalogue.claims().size()) + " claims",
          "suites; --catalogue DIR adds your own"};
}

std::vector<Check> all_checks() {
  std::vector<Check> checks = {check_program()};
  for (Check& check : check_engine()) checks.push_back(std::move(check));
  std::vector<Check> gpus = gpu_checks();
  const bool has_gpu = std::any_of(gpus.begin(), gpus.end(), [](const Check& c) { return c.id.starts_with("gpu_"); });
  checks.push_back(check_gpu_plugin(has_gpu));
  for (Check& check : gpus) checks.push_back(std::move(check));
  checks.push_back(check_cpu());
  checks.push_back(check_kernels());
  checks.push_back(check_vector_path());
  checks.push_back(check_bfloat16_path());
  for (Check& check : check_cpu_features()) checks.push_back(std::move(check));
  checks.push_back(check_folder("cache", "cache folder", cache_folder(), "generated data and prepared texts"));
  checks.push_back(check_database());
  checks.push_back(check_catalogue());
  return checks;
}

int doctor(bool is_json) {
  reports::Document document{.kind = "doctor", .title = "What is installed, what is missing, and what each enables"};
  reports::Table table{.id = "checks",
                       .columns = {{.key = "check", .title = "check"},
                                   {.key = "status", .title = "status"},
                                   {.key = "found", .title = "found", .wraps = true},
                                   {.key = "enables", .title = "enables", .wraps = true}}};
  int missing = 0;
  for (const Check& check : all_checks()) {
    missing += check.status == CheckStatus::kMissing ? 1 : 0;
    reports::TableCell name{.text = check.title, .detail = "", .value = check.id};
    table.rows.push_back({std::move(name), reports::text_cell(enum_name(check.status)), reports::text_cell(check.found),
                          reports::text_cell(check.enables)});
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  document.notes.push_back(missing == 0 ? "Everything that `nanobench run` needs is installed."
                                        : "`nanobench run` needs the checks that are marked missing.");
  document.next = {missing == 0 ? reports::NextStep{.command = "run speedrun_history --scale smoke",
                                                    .gain = "tries all of it in seconds"}
                                : reports::NextStep{.command = "bench 'sleep 0.1' 'sleep 0.2'",
                                                    .gain = "times any commands, which needs none of these"}};
  print(document, is_json);
  return missing == 0 ? core::kExitSuccess : core::kExitUsage;
}

}  // namespace

void add_doctor_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("doctor", "Print what is installed, what is missing, and what each would enable");
  const auto is_json = std::make_shared<bool>(false);
  add_json_option(*command, *is_json);
  command->footer(kDoctorFooter);
  command->callback([is_json, &session] { session.exit_code = doctor(*is_json); });
}

}  // namespace nanobench::tools
