#include "core/data/generated_items.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

using ItemWords = std::vector<std::uint16_t>;

/// The first words of a document of unknown length: the words do not depend on it.
ItemWords draw_words(const CorpusModel& model, std::size_t count, RandomStream& random) {
  const std::int64_t topic = model.draw_topic(random);
  ItemWords words{model.draw_first_word(topic, random)};
  while (words.size() < count) words.push_back(model.draw_next_word(topic, words.back(), random));
  return words;
}

ItemWords ending_of(const ItemWords& words, std::size_t context) {
  return {words.begin() + static_cast<std::ptrdiff_t>(context), words.end()};
}

double log_of_sum(const std::vector<double>& logarithms) {
  const double largest = *std::max_element(logarithms.begin(), logarithms.end());
  double sum = 0;
  for (const double value : logarithms) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

/// ln of the probability of the words after the first, in a topic.
double log_chain(const CorpusModel& model, std::int64_t topic, std::span<const std::uint16_t> words) {
  double sum = 0;
  for (std::size_t i = 1; i < words.size(); ++i)
    sum += std::log(model.next_word_probability(topic, words[i - 1], words[i]));
  return sum;
}

/// What an ending is at this place of any document.
class EndingPrior {
 public:
  EndingPrior(const CorpusModel& model, std::size_t context_words) : model_(model) {
    for (std::int64_t topic = 0; topic < model.topics(); ++topic) {
      std::vector<double> words(static_cast<std::size_t>(model.vocab_size()));
      for (std::size_t word = 0; word < words.size(); ++word)
        words[word] = model.first_word_probability(topic, static_cast<std::uint16_t>(word));
      for (std::size_t i = 0; i < context_words; ++i) words = model.propagate(topic, words);
      first_.push_back(std::move(words));
    }
  }

  double log_probability(std::span<const std::uint16_t> ending) const {
    std::vector<double> by_topic;
    for (std::int64_t topic = 0; topic < model_.topics(); ++topic) {
      const double first = first_[static_cast<std::size_t>(topic)][ending.front()];
      by_topic.push_back(std::log(first) + log_chain(model_, topic, ending));
    }
    return log_of_sum(by_topic) - std::log(static_cast<double>(model_.topics()));
  }

 private:
  const CorpusModel& model_;
  std::vector<std::vector<double>> first_;  ///< distribution of the ending's first word, by topic
};

std::vector<double> chances(const CorpusModel& model, const ChoiceItem& item, const EndingPrior& prior) {
  std::vector<double> logarithms;
  for (const ItemWords& ending : item.endings)
    logarithms.push_back(ending_log_probability(model, item.context, ending) - prior.log_probability(ending));
  const double whole = log_of_sum(logarithms);
  for (double& value : logarithms) value = std::exp(value - whole);
  return logarithms;
}

}  // namespace

double ending_log_probability(const CorpusModel& model, std::span<const std::uint16_t> context,
                              std::span<const std::uint16_t> ending) {
  if (context.empty() || ending.empty())
    throw Error(ErrorCode::kInvalidArgument, "an ending's probability needs a context and an ending");
  std::vector<std::uint16_t> both{context.back()};
  both.insert(both.end(), ending.begin(), ending.end());
  std::vector<double> of_context, of_both;
  for (std::int64_t topic = 0; topic < model.topics(); ++topic) {
    of_context.push_back(std::log(model.first_word_probability(topic, context.front())) +
                         log_chain(model, topic, context));
    of_both.push_back(of_context.back() + log_chain(model, topic, both));
  }
  return log_of_sum(of_both) - log_of_sum(of_context);
}

std::vector<double> ending_chances(const CorpusModel& model, const ChoiceItem& item) {
  return chances(model, item, EndingPrior(model, item.context.size()));
}

ChoiceTask generated_items(const CorpusModel& model, std::size_t count, const GeneratedItemShape& shape) {
  const std::size_t words = shape.context_words + shape.ending_words;
  if (count == 0 || count > kMaxGeneratedItems)
    throw Error(ErrorCode::kInvalidArgument, "expected 1 to " + std::to_string(kMaxGeneratedItems) +
                                                 " generated items, got " + std::to_string(count));
  if (shape.context_words == 0 || shape.ending_words == 0 || shape.endings < kMinEndings ||
      shape.endings > kMaxEndings || words > static_cast<std::size_t>(model.config().max_length))
    throw Error(ErrorCode::kInvalidArgument, "no document of the corpus holds items of " + std::to_string(words) +
                                                 " words with " + std::to_string(shape.endings) + " endings");
  RandomStream random(static_cast<std::uint64_t>(model.config().seed),
                      static_cast<std::uint64_t>(CorpusStream::kItems));
  const EndingPrior prior(model, shape.context_words);
  ChoiceTask task;
  double best = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ItemWords document = draw_words(model, words, random);
    ChoiceItem item{
        .number = static_cast<std::uint16_t>(i), .right = random.below(shape.endings), .context = {}, .endings = {}};
    item.context.assign(document.begin(), document.begin() + static_cast<std::ptrdiff_t>(shape.context_words));
    for (std::size_t ending = 0; ending < shape.endings; ++ending)
      item.endings.push_back(
          ending_of(ending == item.right ? document : draw_words(model, words, random), shape.context_words));
    const std::vector<double> chance = chances(model, item, prior);
    best += *std::max_element(chance.begin(), chance.end());
    task.items.push_back(std::move(item));
  }
  task.best_accuracy = best / static_cast<double>(count);
  return task;
}

}  // namespace nanobench::core
