#include "tests/fuzz/targets.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "ablations/claim.h"
#include "ablations/feature.h"
#include "ablations/record.h"
#include "ablations/scale.h"
#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/data/byte_pair.h"
#include "core/data/choice_lines.h"
#include "core/data/choice_task.h"
#include "core/data/data_set.h"
#include "core/data/document_cutter.h"
#include "core/data/safetensors_header.h"
#include "core/data/text_corpus.h"
#include "core/data/token_shard.h"
#include "core/data/vocabulary.h"
#include "core/process/streams.h"
#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"
#include "reports/gate/arm.h"
#include "reports/gate/gate_policy.h"
#include "results/import/named_steps.h"
#include "results/import/speedrun_log.h"
#include "results/store.h"
#include "suites/design/suite.h"
#include "suites/run/mock_settings.h"
#include "suites/run/trainer_process.h"
#include "suites/slurm/progress_file.h"

namespace nanobench::fuzz {
namespace {

using core::Error;
using core::Json;

constexpr const char* kSource = "fuzz.json";

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

/// A reader may refuse its input, with a sentence.
template <class Read>
bool is_accepted(Read&& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.code() == core::ErrorCode::kInternal) throw;
    require(*error.what() != '\0', "an error without a message");
    return false;
  }
}

/// Bytes as a file without a disk; readers open it by its name.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    require(fd_.is_open() && core::write_all(fd_.get(), bytes), "no memory for a file");
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  core::Fd fd_;
};

template <class Read>
void read_json(std::string_view bytes, Read&& read) {
  is_accepted([&] { read(core::parse_json(bytes, kSource)); });
}

// --- what people write ---

void run_suite(std::string_view bytes) {
  read_json(bytes, [](const Json& json) { suites::read_suite(json, kSource); });
}

void run_catalogue(std::string_view bytes) {
  read_json(bytes, [](const Json& json) {
    is_accepted([&] { ablations::read_feature(json, kSource); });
    is_accepted([&] { ablations::read_record(json, kSource); });
    is_accepted([&] { ablations::read_scale(json, kSource); });
  });
}

void run_claims(std::string_view bytes) {
  read_json(bytes, [](const Json& json) { ablations::read_claim(json, kSource); });
}

void run_policy(std::string_view bytes) {
  read_json(bytes, [](const Json& json) {
    is_accepted([&] { reports::read_gate_policy(json, kSource); });
    is_accepted([&] { reports::read_arm(json, kSource); });
  });
}

/// What is accepted is read again from its own text.
void run_json(std::string_view bytes) {
  const Json value = core::json_or_null(bytes);
  const bool is_accepted_too = is_accepted([&] { require(core::parse_json(bytes, kSource) == value, "other values"); });
  require(is_accepted_too || value.is_null(), "only one of two readers accepts");
  if (!is_accepted_too) return;
  const std::string text = value.dump();
  require(core::parse_json(text, kSource).dump() == text, "the text of a value is another value");
  is_accepted([&] { core::parse_ordered_json(bytes, kSource).dump(); });
}

// --- what programs say to each other ---

void run_run_spec(std::string_view bytes) {
  read_json(bytes, [](const Json& json) {
    const core::RunSpec spec = core::read_run_spec(json, kSource);
    const std::string text = core::to_json(spec).dump();
    require(core::to_json(core::read_run_spec(core::parse_json(text, kSource), kSource)).dump() == text,
            "a run is not what it was written as");
    if (!spec.external.is_null()) is_accepted([&] { suites::read_trainer_settings(spec.external); });
    if (!spec.mock.is_null()) is_accepted([&] { suites::read_mock_settings(spec.mock, spec.config, kSource); });
  });
}

bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// The quick reader of steps against the general one.
void compare_steps(const core::StepEvent& quick, std::string_view line) {
  const Json json = core::json_or_null(line);
  require(json.is_object() && json.value("event", "") == "step", "a step that is no event");
  require(json["step"] == quick.step && json["window_tokens"] == quick.window_tokens, "other whole numbers");
  const auto number = [&](const char* key) { return json[key].is_null() ? std::nan("") : json[key].get<double>(); };
  require(is_same(number("loss"), quick.loss) && is_same(number("step_ms"), quick.step_ms), "other numbers");
}

/// The readers keep nothing from line to line, so that a case of many lines would only take longer.
void run_events(std::string_view bytes) {
  core::LineCutter lines;
  int line_count = 0;
  const auto take = [&](std::string_view line) {
    if (++line_count > 3) return;
    if (const auto step = core::read_step_line(line)) compare_steps(*step, line);
    is_accepted([&] {
      const std::string text = core::to_line(core::parse_event_line(line));
      require(core::to_line(core::parse_event_line(text)) == text, "an event is not what it was written as");
    });
    suites::parse_progress_head(line);
    suites::parse_progress_line(line);
  };
  lines.add(bytes, take);
  take(lines.take_rest());
}

// --- data ---

void run_shards(std::string_view bytes) {
  const MemoryFile file(bytes);
  for (const core::ShardStorage storage : {core::ShardStorage::kMapped, core::ShardStorage::kRead}) {
    is_accepted([&] {
      const core::TokenShard shard(file.path(), storage);
      require(shard.size() * 2 + static_cast<std::int64_t>(core::kShardHeaderBytes) ==
                  static_cast<std::int64_t>(bytes.size()),
              "tokens beyond the file");
      shard.check_token_range(257);
    });
  }
}

/// meta.json of a data set beside good shards.
void run_data_set(std::string_view bytes) {
  static const core::TemporaryFolder folder("fuzz");
  static const bool is_made = [] {
    const std::vector<std::uint16_t> tokens(2000, 7);
    for (const char* name : {"train_000000.bin", "val_000000.bin"})
      core::write_token_shard(folder.path() / name, tokens);
    return true;
  }();
  require(is_made, "no shards");
  const int descriptor = creat((folder.path() / "meta.json").c_str(), 0600);
  const core::Fd meta(descriptor);
  require(meta.is_open() && core::write_all(meta.get(), bytes), "no room for a file");
  is_accepted([&] { core::load_data_set(folder.path()); });
}

/// What is accepted is read again from its own text.
void run_vocabulary(std::string_view bytes) {
  const MemoryFile file(bytes);
  is_accepted([&] {
    const core::Vocabulary vocabulary = core::read_vocabulary(file.path());
    const MemoryFile again(core::vocabulary_text(vocabulary));
    require(core::read_vocabulary(again.path()) == vocabulary, "a vocabulary is not what it was written as");
    const std::vector<std::int32_t> prefixes = core::longest_prefixes(vocabulary);
    for (std::size_t token = 0; token < prefixes.size(); ++token)
      require(
          prefixes[token] < 0 || vocabulary[token].starts_with(vocabulary[static_cast<std::size_t>(prefixes[token])]),
          "a prefix that is none");
  });
}

void run_choices(std::string_view bytes) {
  const MemoryFile file(bytes);
  is_accepted([&] {
    const core::ChoiceTask task = core::read_choice_task(file.path());
    for (const core::ChoiceItem& item : task.items) require(item.right < item.endings.size(), "no ending is right");
    const MemoryFile again(core::choice_task_bytes(task));
    require(core::read_choice_task(again.path()).items == task.items, "items are not what they were written as");
    is_accepted([&] { core::check_tokens(task, 257, kSource); });
  });
}

/// A vocabulary of single bytes and a few pairs, in a folder of its own.
core::BytePairEncoder& small_encoder() {
  static const core::TemporaryFolder folder("fuzz-vocabulary");
  static core::BytePairEncoder encoder = [] {
    core::Json numbers = core::Json::object();
    const auto add = [&](const std::string& signs) { numbers[signs] = numbers.size(); };
    const auto sign = [](int code) {
      if (code < 0x80) return std::string(1, static_cast<char>(code));
      return std::string{static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    };
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool is_seen = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      add(sign(is_seen ? byte : next++));
    }
    for (const char* pair : {"th", "the", "in", "an"}) add(pair);
    core::write_file_atomically(folder.path() / "encoder.json", numbers.dump());
    core::write_file_atomically(folder.path() / "vocab.bpe", std::string_view("#version: 0.2\nt h\nth e\ni n\na n\n"));
    return core::BytePairEncoder(folder.path());
  }();
  return encoder;
}

void run_choice_lines(std::string_view bytes) {
  std::string joined;
  for (const std::string_view piece : core::gpt2_pieces(bytes)) {
    require(!piece.empty(), "a piece of nothing");
    joined += piece;
  }
  require(joined == bytes, "a byte is lost");
  const MemoryFile file(bytes);
  is_accepted([&] {
    const core::ChoiceTask task = core::read_choice_lines(file.path(), small_encoder());
    is_accepted([&] { core::choice_task_bytes(task); });
  });
}

void run_safetensors(std::string_view bytes) {
  const MemoryFile file(bytes);
  is_accepted([&] {
    std::uint64_t next = 0;
    for (const core::SafetensorsEntry& entry : core::read_safetensors_header(core::InputFile(file.path()), "fuzz")) {
      require(next == 0 || entry.begin == next, "a gap or an overlap");
      next = entry.begin + entry.bytes;
      require(next <= bytes.size(), "a tensor beyond the file");
    }
  });
}

class Documents : public core::DocumentSink {
 public:
  void open() override { lengths.push_back(0); }
  void text(std::string_view bytes) override {
    lengths.back() += bytes.size();
    all += bytes;
  }
  std::vector<std::size_t> lengths;
  std::string all;
};

Documents cut_in_pieces(std::string_view bytes, core::DocumentRule rule, std::size_t piece) {
  Documents documents;
  core::DocumentCutter cutter(rule, documents);
  for (std::size_t at = 0; at < bytes.size(); at += piece) cutter.add(bytes.substr(at, piece));
  cutter.finish();
  return documents;
}

/// No byte is lost, and pieces make no difference.
void run_text(std::string_view bytes) {
  for (const auto rule : {core::DocumentRule::kFile, core::DocumentRule::kBlankLine, core::DocumentRule::kHeading}) {
    const Documents whole = cut_in_pieces(bytes, rule, bytes.size() + 1);
    require(whole.all == bytes, "a byte is lost");
    require(cut_in_pieces(bytes, rule, 7).lengths == whole.lengths, "pieces make a difference");
    const std::vector<std::string_view> views = core::split_documents(bytes, rule);
    require(core::is_blank(bytes) ? views.empty() : views.size() == whole.lengths.size(), "other documents");
  }
}

// --- logs and stores ---

std::string told_by(const results::SpeedrunLog& log) {
  std::string text =
      log.digest + log.script_digest + log.hardware() + joined(words_of(log.problems)) + joined(log.notes);
  for (const results::SpeedrunRun& run : log.runs) {
    text += "\n" + std::to_string(run.last_step()) + " " + (run.early_end() ? words_of(*run.early_end()) : "") +
            joined(words_of(run.problems));
    for (const results::LoggedValidation& item : run.validations)
      text += " " + std::to_string(item.step) + ":" + std::to_string(item.loss);
    text += " " + std::to_string(run.steps.size());
  }
  return text;
}

void run_logs(std::string_view bytes) {
  results::SpeedrunLogReader pieces;
  for (std::size_t at = 0; at < bytes.size(); at += 13) pieces.add(bytes.substr(at, 13));
  require(told_by(pieces.finish()) == told_by(results::read_speedrun_log(bytes)), "pieces make a difference");
  results::named_steps_in(std::string(bytes), "README.md");
}

void run_store(std::string_view bytes) {
  static const core::TemporaryFolder folder("fuzz");
  const std::filesystem::path file = folder.path() / "store.db";
  const int descriptor = creat(file.c_str(), 0600);
  {
    const core::Fd out(descriptor);
    require(out.is_open() && core::write_all(out.get(), bytes), "no room for a file");
  }
  is_accepted([&] {
    const results::Store store(file, results::OpenMode::kReadOnly);
    is_accepted([&] { store.plans(); });
    is_accepted([&] { store.runs(); });
  });
}

constexpr auto kTargets = std::to_array<FuzzTarget>({{"suite", run_suite},
                                                     {"catalogue", run_catalogue},
                                                     {"claims", run_claims},
                                                     {"policy", run_policy},
                                                     {"json", run_json},
                                                     {"run_spec", run_run_spec},
                                                     {"events", run_events},
                                                     {"shards", run_shards},
                                                     {"data_set", run_data_set},
                                                     {"safetensors", run_safetensors},
                                                     {"vocabulary", run_vocabulary},
                                                     {"choices", run_choices},
                                                     {"choice_lines", run_choice_lines},
                                                     {"text", run_text},
                                                     {"logs", run_logs},
                                                     {"store", run_store}});

}  // namespace

std::span<const FuzzTarget> fuzz_targets() {
  return kTargets;
}

const FuzzTarget& fuzz_target(std::string_view name) {
  const auto found =
      std::find_if(kTargets.begin(), kTargets.end(), [&](const auto& target) { return target.name == name; });
  require(found != kTargets.end(), "no such target");
  return *found;
}

}  // namespace nanobench::fuzz
