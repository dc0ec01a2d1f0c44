/// Keys of the answers that change during a run.
inline constexpr const char* kSampledAnswers[] = {"power_mw",    "sm_clock",  "memory_clock",  "temperature",
                                                  "utilization", "pcie_sent", "pcie_received", "throttle",
                                                  "processes",   "memory"};

/// A driver that answers from a file, in place of the machine's own, as long as this lives. One at a time.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace nanobench::core {

class FakeDriver {
 public:
  explicit FakeDriver(const std::string& library = "fake_nvml")
      : file_(std::filesystem::temp_directory_path() / ("nanobench-fake-nvml-" + std::to_string(getpid()))) {
    setenv("NANOBENCH_NVML", library_file(library).c_str(), 1);
    setenv("NANOBENCH_FAKE_NVML", file_.c_str(), 1);
    set("driver", "570.86.15");
    set("cuda", "12080");
    set("gpus", "2");
    for (const std::string number : {"0", "1"}) {
      const std::string gpu = "gpu." + number + ".";
      set(gpu + "name", "NVIDIA H100 80GB HBM3");
      set(gpu + "uuid", "GPU-00000000-0000-0000-0000-00000000000" + number);
      set(gpu + "bus", "00000000:0" + number + ":00.0");
      set(gpu + "memory", "85520809984 1048576");
      set(gpu + "power_limit_mw", "700000");
      set(gpu + "power_mw", "312500");
      set(gpu + "sm_clock", "1755");
      set(gpu + "memory_clock", "2619");
      set(gpu + "max_sm_clock", "1980");
      set(gpu + "max_memory_clock", "2619");
      set(gpu + "temperature", "54");
      set(gpu + "utilization", "97 41");
      set(gpu + "pcie_sent", "12500");
      set(gpu + "pcie_received", "30500");
      set(gpu + "throttle", "0");
      set(gpu + "ecc", "1");
      set(gpu + "persistence", "1");
      set(gpu + "mig", "0");
      set(gpu + "processes", "none");
    }
  }
  ~FakeDriver() {
    unsetenv("NANOBENCH_NVML");
    unsetenv("NANOBENCH_FAKE_NVML");
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  static std::filesystem::path library_file(const std::string& library = "fake_nvml") {
    return std::filesystem::path(NANOBENCH_BIN_DIR) / (library + ".so");
  }
  const std::filesystem::path& answers() const { return file_; }

  /// From now on; whoever asks at this moment sees the old answers or the new ones.
  void set(const std::string& key, const std::string& value) {
    answers_[key] = value;
    const std::filesystem::path next = file_.string() + ".next";
    {
      std::ofstream out(next);
      for (const auto& [name, text] : answers_) out << name << ' ' << text << '\n';
    }
    std::filesystem::rename(next, file_);
  }

 private:
  std::filesystem::path file_;
  std::map<std::string, std::string> answers_;
};

}  // namespace nanobench::core
