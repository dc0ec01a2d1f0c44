/// Logs in the forms of two years, made up for tests.
#pragma once

#include <string>

namespace nanobench::results {

inline std::string separator() {
  std::string line(100, '=');
  line += '\n';
  return line;
}

/// Two validations and three steps of record 15's form.
inline std::string steps_text(const std::string& final_loss = "3.2785", const std::string& final_ms = "400") {
  return "step:0/3 val_loss:10.8258 train_time:0ms step_avg:nanms\n"
         "step:1/3 train_time:100ms step_avg:nanms\n"
         "step:2/3 train_time:250ms step_avg:125.00ms\n"
         "step:3/3 train_time:390ms step_avg:130.00ms\n"
         "step:3/3 val_loss:" +
         final_loss + " train_time:" + final_ms +
         "ms step_avg:133.33ms\n"
         "peak memory allocated: 29898 MiB reserved: 44552 MiB\n";
}

/// Scripts of different names are different code.
inline std::string script_text(const std::string& name = "one") {
  return "import os\nimport torch\nvariant = \"" + name +
         "\"\nprint0(f\"step:{step}/{train_steps} val_loss:{val_loss:.4f}\")\nstep:9/9 val_loss:0.1 in a docstring\n";
}

inline std::string machine_text(int gpus = 8) {
  std::string text =
      "Running Python 3.10.12 (main, Sep 11 2024, 15:47:36) [GCC 11.4.0]\n"
      "Running PyTorch 2.7.0.dev20250125+cu126 compiled for CUDA 12.6\n"
      "| NVIDIA-SMI 535.183.06             Driver Version: 535.183.06   CUDA Version: 12.4     |\n"
      "| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |\n";
  for (int i = 0; i < gpus; ++i) {
    text += "|   " + std::to_string(i) +
            "  NVIDIA H100 80GB HBM3          On  | 00000000:19:00.0 Off |                    0 |\n"
            "| N/A   38C    P0             121W / 700W |   7713MiB / 81559MiB |      0%      Default |\n";
  }
  return text + "|    0   N/A  N/A   1234   C   /usr/bin/python3.12   On  0MiB |\n";
}

inline std::string log_text(const std::string& steps = steps_text(), const std::string& script = "one") {
  return script_text(script) + separator() + machine_text() + separator() + steps;
}

}  // namespace nanobench::results
