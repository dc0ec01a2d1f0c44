/// Multiple choice from the process behind the generated corpus, with the best accuracy that any answers can have.
///
/// A context is the first words of a document. The right ending is the process's own continuation, drawn from the
/// document's topic and last word. Each wrong ending is the continuation of another document at the same place, drawn
/// anew. So given everything that is shown, the chance that an ending e is right is proportional to P(e | context) /
/// P(e): which of the four is likely after this context, and not everywhere. Both probabilities are sums over the
/// topics that are computed exactly. Deterministic; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/data/choice_task.h"
#include "core/data/corpus_model.h"

namespace nanobench::core {

struct GeneratedItemShape {
  std::size_t context_words = 24;
  std::size_t ending_words = 6;
  std::size_t endings = 4;
};

inline constexpr std::size_t kMaxGeneratedItems = 65535;

/// The first `count` items of the corpus's own stream; fewer are a beginning of more. `best_accuracy` is set. Throws
/// Error{kInvalidArgument} for no items or more than kMaxGeneratedItems, and for a shape that no document has.
ChoiceTask generated_items(const CorpusModel& model, std::size_t count, const GeneratedItemShape& shape = {});

/// The chance of each ending to be right, given context and endings; sums to 1.
std::vector<double> ending_chances(const CorpusModel& model, const ChoiceItem& item);

/// ln P(ending | context) of the process, its topic unknown; the document does not end within either.
double ending_log_probability(const CorpusModel& model, std::span<const std::uint16_t> context,
                              std::span<const std::uint16_t> ending);

}  // namespace nanobench::core
