/// A run of a fraction of a second that several processes can share.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/data/token_shard.h"
#include "core/protocol/run_spec.h"

namespace nanobench::core::testing {

/// Four layers, four ranks with two sequences a step each; what begins at zero in the records is moved from it.
class TinyRun {
 public:
  TinyRun() : shard_(std::filesystem::temp_directory_path() / ("nanobench_tiny_" + std::to_string(getpid()) + ".bin")) {
    std::vector<std::uint16_t> tokens;
    std::uint32_t state = 20240520;
    for (int i = 0; i < 5000; ++i) {
      state = state * 1664525U + 1013904223U;
      tokens.push_back(i % 41 == 0 ? 60 : static_cast<std::uint16_t>((state >> 24) % 60));
    }
    write_token_shard(shard_, tokens);
  }
  ~TinyRun() { std::filesystem::remove(shard_); }
  TinyRun(const TinyRun&) = delete;
  TinyRun& operator=(const TinyRun&) = delete;

  RunSpec spec(int processes) const {
    static const char* const kConfig = R"({
      "model": {"num_layers": 4, "num_heads": 2, "num_kv_heads": 2, "model_dim": 32, "vocab_size": 61,
                "vocab_pad_multiple": 16, "attention_skip_layers": [2], "rope": {"max_seq_len": 64},
                "value_embeddings": {"num_tables": 2, "layer_map": [0, null, 1, 0]}},
      "attention": {"document_separator": 60, "block_size": 16,
                    "window": {"schedule": {"start_tokens": 16, "end_tokens": 48, "offset_tokens": 0,
                                            "quantum_tokens": 16}}},
      "optimizer": {"hidden_matrices": {"type": "muon", "ns_dtype": "compute"}},
      "schedule": {"num_steps": 4, "learning_rate": {"cooldown_steps": 2}},
      "data": {"sequence_length": 64, "sequences_per_step": 8, "ranks": 4, "val_sequences": 8},
      "run": {"stop_after": 4, "val_every": 2, "untimed_steps": 1},
      "init": {"zero_init_std": 0.5, "scalar_std": 0.1}
    })";
    RunSpec spec{.run_id = "tiny", .config = read_train_config(parse_json(kConfig, "tiny"), "tiny")};
    spec.threads = processes;
    spec.train_shards = spec.val_shards = {shard_.string()};
    spec.config.distributed.processes = processes;
    return spec;
  }

 private:
  std::filesystem::path shard_;
};

}  // namespace nanobench::core::testing
