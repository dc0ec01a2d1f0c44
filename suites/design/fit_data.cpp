#include "suites/design/fit_data.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/data/token_shard.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

class DataFit {
 public:
  DataFit(Matrix& matrix, const core::DataSet& data, bool is_foreign)
      : matrix_(matrix), data_(data), is_foreign_(is_foreign) {}

  void fit(Cell& cell) {
    core::TrainConfig& config = cell.config;
    config.attention.document_separator = data_.separator;
    fit_vocabulary(cell);
    fit_validation(config);
    require_enough(config);
    fit_length(config);
    core::check_train_config(config, cell.label + " on data " + data_.name);
  }

 private:
  void note(const std::string& text) {
    std::vector<core::Message>& messages = matrix_.messages;
    const core::Message message = data_note(data_.name, text);
    if (std::find(messages.begin(), messages.end(), message) == messages.end()) messages.push_back(message);
  }

  /// What comes with the scale or the record is enlarged; what somebody asked for must hold every token.
  void fit_vocabulary(Cell& cell) {
    std::int64_t& vocab_size = cell.config.model.vocab_size;
    const bool is_small = vocab_size < data_.vocab_size;
    if (is_small && cell.vocabulary_asked_by.empty()) {
      note("the vocabulary is enlarged from " + std::to_string(vocab_size) + " to " + std::to_string(data_.vocab_size) +
           " tokens");
      vocab_size = data_.vocab_size;
    }
    if ((is_small && !cell.vocabulary_asked_by.empty()) || is_foreign_) require_tokens_below(vocab_size, cell);
  }

  void require_tokens_below(std::int64_t vocab_size, const Cell& cell) {
    if (!checked_.insert(vocab_size).second) return;
    try {
      for (const auto* split : {&data_.train, &data_.val}) {
        for (const std::filesystem::path& file : *split) core::TokenShard(file).check_token_range(vocab_size);
      }
    } catch (const Error& error) {
      const std::string who =
          cell.vocabulary_asked_by.empty() ? "" : " (asked for by " + cell.vocabulary_asked_by + ")";
      throw Error(error.code(), cell.label + ": the vocabulary of " + std::to_string(vocab_size) + " tokens" + who +
                                    " is too small: " + error.what());
    }
  }

  /// The loader reads a step's worth at a time and never the shard's last token (it is only a target).
  std::int64_t val_reads(const core::DataConfig& config) const {
    return (data_.val_tokens - 1 - config.loader.reserve_tokens) / config.val_length();
  }

  static std::int64_t val_sequences_at_once(const core::DataConfig& config) {
    return config.loader.position == core::LoaderPosition::kGlobal ? config.sequences_per_step
                                                                   : config.ranks * config.loader.sequences_per_read;
  }

  void fit_validation(core::TrainConfig& config) {
    core::DataConfig& to = config.data;
    const std::int64_t fitting = val_reads(to) / to.sequences_per_step * to.sequences_per_step;
    if (to.val_sequences <= fitting || fitting == 0 || data_.val.size() > 1) return;
    note("validation reads " + std::to_string(fitting) + " sequences of " + std::to_string(to.val_length()) +
         " tokens instead of " + std::to_string(to.val_sequences) + ", all that there are");
    to.val_sequences = fitting;
  }

  void require_enough(const core::TrainConfig& config) const {
    const std::int64_t least = config.data.tokens_per_step() + config.data.loader.reserve_tokens + 1;
    const std::int64_t least_val = val_sequences_at_once(config.data);
    if (data_.train_tokens >= least && val_reads(config.data) >= least_val) return;
    throw Error(ErrorCode::kInvalidArgument,
                "data " + data_.name + " is too short: it has " + std::to_string(data_.train_tokens) +
                    " tokens to train on and " + std::to_string(data_.val_tokens) + " to validate, one step takes " +
                    std::to_string(least) + " and one read of the validation " +
                    std::to_string(least_val * config.data.val_length() + 1) + "; give more data or a smaller scale");
  }

  /// Records #19 on end with their data. Here too little data is no reason to stop in the middle of a run.
  void fit_length(core::TrainConfig& config) {
    core::LoaderConfig& loader = config.data.loader;
    if (loader.wrap) return;
    const std::int64_t read = config.data.tokens_per_step();
    std::int64_t steps = 0;
    for (const std::filesystem::path& file : data_.train)
      steps += std::max<std::int64_t>(0, core::TokenShard(file).size() - 1 - loader.reserve_tokens) / read;
    if (steps >= config.run.stop_after) return;
    note("it holds " + std::to_string(steps) + " of the " + std::to_string(config.run.stop_after) +
         " steps, so it is read again from its start");
    loader.wrap = true;
  }

  Matrix& matrix_;
  const core::DataSet& data_;
  const bool is_foreign_;
  std::set<std::int64_t> checked_;  ///< vocabularies that hold every token
};

}  // namespace

void fit_to_data(Matrix& matrix, const core::DataSet& data, bool is_foreign) {
  DataFit fit(matrix, data, is_foreign);
  for (Cell& cell : matrix.cells) {
    if (!cell.operation) fit.fit(cell);
  }
}

}  // namespace nanobench::suites
