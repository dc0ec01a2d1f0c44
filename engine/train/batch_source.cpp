#include "engine/train/batch_source.h"

#include <algorithm>
#include <filesystem>

#include "core/base/op_timer.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {
namespace {

LoaderOptions loader_options(const TrainConfig& config, std::uint64_t seed) {
  const DataConfig& data = config.data;
  return {.sequence_length = data.sequence_length,
          .sequences_per_step = data.sequences_per_step,
          .ranks = data.ranks,
          .position = data.loader.position,
          .reserve_tokens = data.loader.reserve_tokens,
          .sequences_per_read = data.loader.sequences_per_read,
          .first_read_twice = data.loader.first_read_twice,
          .wrap = data.loader.wrap,
          .order = data.loader.order,
          .seed = seed,
          .alignment = data.loader.alignment,
          .document_separator = config.attention.document_separator,
          .max_document_length = data.loader.max_document_length,
          .search_window = data.loader.search_window,
          .stages = data.stages};
}

/// Validation reads its shards from the beginning, in order.
LoaderOptions val_loader_options(const TrainConfig& config) {
  const DataConfig& data = config.data;
  LoaderOptions options = loader_options(config, 0);
  options.sequence_length = data.val_length();
  options.sequences_per_step = std::min(data.sequences_per_step, data.val_sequences);  // what one read needs at most
  options.first_read_twice = false;
  options.wrap = true;
  options.order = BatchOrder::kSequential;
  options.alignment = BatchAlignment::kNone;
  options.stages.clear();
  return options;
}

}  // namespace

BatchSource::BatchSource(const RunSpec& spec, at::ScalarType dtype, const RankShare& share, at::Device device)
    : config_(spec.config),
      share_(share),
      device_(device),
      inputs_(config_, dtype, device),
      train_loader_(open(spec.train_shards), loader_options(config_, spec.seed)),
      val_loader_(open(spec.val_shards), val_loader_options(config_)),
      validation_places_(val_loader_.validation_sequences(config_.data.val_sequences)) {}

ShardList BatchSource::open(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    for (const std::filesystem::path& file : expand_shards(path)) files.push_back(file);
  }
  const ShardStorage storage = config_.data.loader.storage;
  ShardList shards = open_shards(files, storage);
  for (const TokenShard& shard : *shards) {
    shard.check_token_range(config_.model.vocab_size);
    if (storage == ShardStorage::kPinned && !shard.is_locked()) {
      warnings_.push_back("the memory of shard " + shard.path().string() +
                          " could not be locked; raise the limit of locked memory (ulimit -l) for pinned storage");
    }
  }
  return shards;
}

FetchedSequence BatchSource::fetch(const DataLoader& loader, const SequenceRef& place) const {
  FetchedSequence sequence{.place = place, .raw = loader.tokens(place), .tokens = {}, .targets = {}};
  if (!share_.plays(place)) return sequence;
  const LoaderConfig& loader_config = config_.data.loader;
  const at::ScalarType type = inputs_.token_type();
  const std::span<const std::uint16_t> raw = sequence.raw.span();
  const auto length = static_cast<std::int64_t>(raw.size()) - 1;
  std::vector<std::uint16_t> mended;  // targets where documents were cut
  if (loader_config.cut_target == CutTarget::kOwnDocument) {
    mended.assign(raw.begin() + 1, raw.end());
    for (const DataLoader::Cut& cut : loader.cuts(place)) mended[static_cast<std::size_t>(cut.place)] = cut.next;
  }
  if (takes_device_tensors(device_) && cuda_kernels()->upload != nullptr) {
    const Upload how = loader_config.storage == ShardStorage::kPinned ? Upload::kAsynchronous : Upload::kBlocking;
    const CudaKernels& gpu = *cuda_kernels();
    sequence.tokens = gpu.upload(raw.first(raw.size() - 1), type, how);
    sequence.targets =
        mended.empty() ? gpu.upload(raw.subspan(1), at::kLong, how) : gpu.upload(mended, at::kLong, Upload::kBlocking);
    return sequence;
  }
  const SequenceInputs::Tokens own = SequenceInputs::shifted(raw, type);
  sequence.tokens = own.tokens;
  sequence.targets = own.targets;
  if (mended.empty()) return sequence;
  sequence.targets = at::empty({length}, at::kLong);  // not the memory of the tokens
  std::copy(mended.begin(), mended.end(), sequence.targets.data_ptr<std::int64_t>());
  return sequence;
}

std::vector<FetchedSequence> BatchSource::fetch_step() {
  const OpTimer timer("fetch");
  std::vector<FetchedSequence> sequences;
  for (const SequenceRef& place : train_loader_.next_step()) sequences.push_back(fetch(train_loader_, place));
  return sequences;
}

std::vector<FetchedSequence> BatchSource::next_step() {
  if (!ahead_) return fetch_step();
  std::vector<FetchedSequence> sequences = std::move(*ahead_);
  ahead_.reset();
  return sequences;
}

void BatchSource::fetch_ahead(FetchTime moment, bool has_next_step) {
  if (!has_next_step || moment != config_.data.loader.fetch) return;
  before_ahead_ = train_loader_.state();
  ahead_ = fetch_step();
}

void BatchSource::restore(const LoaderState& position) {
  ahead_.reset();
  train_loader_.restore(position);
}

void BatchSource::restart() {
  ahead_.reset();
  train_loader_.reset();
}

SequenceInput BatchSource::make_input(const FetchedSequence& sequence, const StepWindows& windows) const {
  const std::span<const std::uint16_t> tokens = sequence.raw.span().first(sequence.raw.size() - 1);
  return inputs_.make(tokens, sequence.tokens, sequence.targets, windows);
}

}  // namespace nanobench::core
