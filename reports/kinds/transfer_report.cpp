#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "core/base/text.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "reports/kinds/transfer_remarks.h"
#include "reports/transfer/transfer.h"
#include "reports/transfer/transfer_text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kMaxOppositeNamed = 6;
constexpr double kLittle = 0.3;  ///< a ceiling below it: noise alone hides the order

std::string correlation_text(double r) {
  return format_fixed(r, 2);
}

std::string effect_text(Question question, double value) {
  return question == Question::kLoss ? format_signed(value, 4) : format_signed_percent(std::expm1(value), 2);
}

/// For machines: nats, or a ratio of times minus 1.
double effect_number(Question question, double value) {
  return question == Question::kLoss ? value : std::expm1(value);
}

const char* direction_word(const std::optional<bool>& is_better) {
  if (!is_better) return "open";
  return *is_better ? "better" : "worse";
}

TableCell transfer_value_cell(Question question, const TransferValue& value) {
  OrderedJson json = {{"value", effect_number(question, value.value)}};
  const auto end = [&](double number) { return OrderedJson(effect_number(question, number)); };
  json["low"] = value.interval ? end(value.interval->low) : OrderedJson(nullptr);
  json["high"] = value.interval ? end(value.interval->high) : OrderedJson(nullptr);
  json["direction"] = direction_word(value.is_better);
  json["n"] = value.n;
  TableCell cell = value_cell(effect_text(question, value.value), std::move(json));
  if (value.interval) {
    cell.detail =
        "[" + effect_text(question, value.interval->low) + ", " + effect_text(question, value.interval->high) + "]";
  }
  return cell;
}

/// "35 % to 97 %"
std::string share_range(const ConfidenceInterval& interval) {
  return format_percent(interval.low, 0) + " to " + format_percent(interval.high, 0);
}

/// "7 of 9" with the interval of the share.
TableCell sign_count_cell(const SignCount& count) {
  OrderedJson json = {{"agree", count.agree}, {"of", count.of}};
  add_bounds(json, count.interval);
  if (count.of == 0) return value_cell("0 of 0", std::move(json));
  return value_cell(std::to_string(count.agree) + " of " + std::to_string(count.of), std::move(json),
                    "(" + share_range(*count.interval) + ")");
}

std::string range_of(const RankCorrelation& order) {
  return correlation_text(order.interval.low) + " to " + correlation_text(order.interval.high);
}

TableCell order_cell(const ScalePair& pair) {
  if (!pair.order) {
    TableCell cell = missing_cell();
    if (static_cast<int>(pair.changes.size()) < kMinRankPairs)
      cell.detail = "(needs " + std::to_string(kMinRankPairs) + " changes)";
    return cell;
  }
  OrderedJson json = {{"value", pair.order->r}};
  add_bounds(json, pair.order->interval);
  json["n"] = pair.order->n;
  return value_cell(correlation_text(pair.order->r), std::move(json), "(" + range_of(*pair.order) + ")");
}

TableCell ceiling_cell(const ScalePair& pair) {
  const std::optional<double> ceiling = pair.ceiling();
  OrderedJson json = {{"value", json_of(ceiling)},
                      {"small_reliability", json_of(pair.small_reliability)},
                      {"large_reliability", json_of(pair.large_reliability)}};
  return value_cell(ceiling ? "about " + correlation_text(*ceiling) : "-", std::move(json));
}

/// "a, b (undecided at smoke), c"
std::string opposite_names(const ScalePair& pair, std::size_t max) {
  std::vector<std::string> names = pair.decided.disagreeing;
  for (const std::string& name : pair.predicted.disagreeing) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name + " (undecided at " + pair.small + ")");
  }
  return listed_first(names, max);
}

Table pairs_table(const Transfer& transfer) {
  Table table{.id = "pairs",
              .title = "Pairs of scales",
              .columns = {text_column("small", "small"), text_column("large", "large"), text_column("on", "effect on"),
                          number_column("changes", "changes"), number_column("both_decide", "signs: both decide"),
                          number_column("predicted", "large decides"), number_column("order", "order"),
                          number_column("noise_allows", "noise allows"), wide_column("opposite", "opposite signs", 1)},
              .rows = {}};
  for (const ScalePair& pair : transfer.pairs) {
    table.rows.push_back({text_cell(pair.small), text_cell(pair.large),
                          value_cell(title_of(pair.question), enum_name(pair.question)),
                          count_cell(static_cast<std::int64_t>(pair.changes.size())), sign_count_cell(pair.decided),
                          sign_count_cell(pair.predicted), order_cell(pair), ceiling_cell(pair),
                          text_or_missing(opposite_names(pair, pair.predicted.disagreeing.size() + 1))});
  }
  return table;
}

/// One row for each change of each pair and question; if those are more than `max_rows`, the ones with opposite signs.
/// Counts the others in `left_out`.
Table shared_table(const Transfer& transfer, std::size_t max_rows, std::size_t& left_out) {
  Table table{
      .id = "shared",
      .title = "Changes at two scales",
      .columns = {text_column("change", "change"), text_column("on", "effect on"), text_column("small", "small"),
                  number_column("small_effect", "effect"), text_column("large", "large"),
                  number_column("large_effect", "effect"), text_column("signs", "signs"),
                  text_column("from", "from", 3), text_column("to", "to", 3), text_column("base", "base", 2)},
      .rows = {}};
  std::size_t all = 0;
  for (const ScalePair& pair : transfer.pairs) all += pair.changes.size();
  for (const ScalePair& pair : transfer.pairs) {
    for (const std::size_t index : pair.changes) {
      const TransferChange& change = transfer.changes[index];
      const std::optional<TransferValue> small = change.value_at(pair.small, pair.question);
      const std::optional<TransferValue> large = change.value_at(pair.large, pair.question);
      if (!small || !large) continue;
      const Signs signs = signs_of(pair, *small, *large);
      if (all > max_rows && signs != Signs::kOpposite) {
        left_out += 1;
        continue;
      }
      table.rows.push_back({text_cell(change.name), value_cell(title_of(pair.question), enum_name(pair.question)),
                            text_cell(pair.small), transfer_value_cell(pair.question, *small), text_cell(pair.large),
                            transfer_value_cell(pair.question, *large), text_cell(enum_name(signs)),
                            text_cell(change.key.from), text_cell(change.key.to),
                            text_or_missing(change.key.base_text())});
    }
  }
  return table;
}

/// Those that count first, or alone if the table `is_short`.
Table published_table(const Transfer& transfer, bool is_short, std::size_t& left_out) {
  Table table{
      .id = "published",
      .title = "Published training times",
      .columns = {text_column("change", "change"), text_column("record", "record"),
                  number_column("before_s", "before s"), number_column("after_s", "after s"),
                  number_column("ratio", "change"), text_column("counts", "counts"), wide_column("reason", "why not")},
      .rows = {}};
  std::vector<const TransferChange*> changes;
  for (const TransferChange& change : transfer.changes) {
    if (change.published && is_short && !change.published->counts()) left_out += 1;
    if (change.published && (change.published->counts() || !is_short)) changes.push_back(&change);
  }
  std::stable_partition(changes.begin(), changes.end(),
                        [](const TransferChange* change) { return change->published->counts(); });
  for (const TransferChange* item : changes) {
    const TransferChange& change = *item;
    const PublishedChange& published = *change.published;
    TableCell reason = published.limit ? text_cell(text_of(*published.limit)) : missing_cell();
    if (!published.note.empty()) reason.detail = "(" + published.note + ")";
    table.rows.push_back({text_cell(change.name), text_cell(published.record), fixed_cell(published.before_s, 1),
                          fixed_cell(published.after_s, 1),
                          value_cell(effect_text(Question::kEqualLoss, published.log_ratio),
                                     effect_number(Question::kEqualLoss, published.log_ratio)),
                          value_cell(published.counts() ? "yes" : "no", published.counts()), std::move(reason)});
  }
  return table;
}

/// Which plan the changes of each scale come from.
Table sources_table(const Transfer& transfer) {
  struct Source {
    const MeasuredChange* change = nullptr;
    std::int64_t changes = 0;
    int fewest = 0;  ///< complete seeds of an effect on the loss
    int most = 0;
  };
  Table table{.id = "sources",
              .title = "Where the effects come from",
              .columns = {text_column("scale", "scale"), text_column("suite", "suite"), number_column("plan", "plan"),
                          text_column("database", "database", 2), number_column("changes", "changes"),
                          number_column("seeds", "seeds"), text_column("data", "data", 1),
                          text_column("machine", "machine", 3)},
              .rows = {}};
  for (const std::string& scale : transfer.scales) {
    std::map<std::pair<std::string, std::int64_t>, Source> sources;
    for (const TransferChange& change : transfer.changes) {
      const auto found = change.measured.find(scale);
      if (found == change.measured.end()) continue;
      Source& source = sources[{found->second.database, found->second.plan_id}];
      const int seeds = found->second.effect.loss.n;
      source.fewest = source.changes == 0 ? seeds : std::min(source.fewest, seeds);
      source.most = std::max(source.most, seeds);
      source.change = &found->second;
      source.changes += 1;
    }
    for (const auto& [key, source] : sources) {
      const std::string seeds =
          std::to_string(source.fewest) + (source.most > source.fewest ? " to " + std::to_string(source.most) : "");
      table.rows.push_back({text_cell(scale), text_cell(source.change->suite), count_cell(source.change->plan_id),
                            text_cell(source.change->database), count_cell(source.changes),
                            value_cell(seeds, {{"fewest", source.fewest}, {"most", source.most}}),
                            text_cell(source.change->data_name), text_cell(source.change->hardware)});
    }
  }
  return table;
}

/// "smoke has the sign of 8 of the 9 effects on the loss that nano decides (52 % to 100 %; opposite: x)"
std::string sign_sentence(const ScalePair& pair) {
  const SignCount& count = pair.predicted;
  const std::string effect = std::string(" on the ") + title_of(pair.question);
  const std::string on = pair.is_published()
                             ? counted(count.of, "published change of time", "published changes of time")
                             : counted(count.of, "effect" + effect, "effects" + effect);
  if (count.of == 0) {
    return pair.large + " decides the direction of none of " +
           counted(static_cast<std::int64_t>(pair.changes.size()), "effect") + " on the " + title_of(pair.question) +
           " that it shares with " + pair.small + ", so signs say nothing" +
           (pair.most_seeds < EffectRules{}.min_n ? " (" + counted(pair.most_seeds, "seed") + "; verdicts need " +
                                                        std::to_string(EffectRules{}.min_n) + ")"
                                                  : "");
  }
  std::string text = pair.small + " has the sign of " + std::to_string(count.agree) + " of the " + on;
  if (!pair.is_published()) text += " that " + pair.large + " decides";
  text += " (" + share_range(*count.interval) + ")";
  const std::string opposite = opposite_names(pair, kMaxOppositeNamed);
  return opposite.empty() ? text : text + "; not of " + opposite;
}

/// Whether what is missing to a perfect order is noise.
std::string noise_sentence(const ScalePair& pair) {
  const std::optional<double> ceiling = pair.ceiling();
  if (pair.is_published()) return "published times have no error, so what noise allows is not known";
  if (!ceiling) return "the runs give no error, so what noise allows is not known";
  const std::string allowed = "noise alone would allow about " + correlation_text(*ceiling);
  if (*ceiling < kLittle) return allowed + ", so these runs cannot show an order: more seeds can";
  if (pair.order->interval.high < *ceiling) return allowed + ", so the scales seem to differ by more than noise";
  return allowed + ", so noise may be all that is missing";
}

/// "the order agrees with 0.62 (0.35 to 0.79), where noise alone would allow about 0.90, so ..."
std::string order_sentence(const ScalePair& pair) {
  if (!pair.order) {
    const auto shared = static_cast<std::int64_t>(pair.changes.size());
    if (shared < kMinRankPairs)
      return counted(shared, "shared change is", "shared changes are") + " too few to compare orders (" +
             std::to_string(kMinRankPairs) + " needed)";
    return "one of the two has the same effect for all, so there is no order";
  }
  const bool may_be_chance = pair.order->interval.contains(0.0);
  return "the order agrees with " + correlation_text(pair.order->r) + " (" + range_of(*pair.order) + ")" +
         (may_be_chance ? ", which may be no agreement" : "") + "; " + noise_sentence(pair);
}

std::string pair_sentence(const ScalePair& pair) {
  if (pair.changes.empty()) {
    return counted(pair.equal, "change") + " shared by " + pair.small + " and " + pair.large +
           " leave the loss as it is, to the bit.";
  }
  return sign_sentence(pair) + "; " + order_sentence(pair) + ".";
}

/// The pair that the headline is about: measured scales first, then the loss, then most changes, then the largest
/// scale.
const ScalePair* headline_pair(const Transfer& transfer) {
  const auto rank = [](const ScalePair& pair) {
    return std::tuple(!pair.changes.empty(), !pair.is_published(), pair.question == Question::kLoss,
                      pair.changes.size());
  };
  const ScalePair* best = nullptr;
  for (const ScalePair& pair : transfer.pairs) {
    if (best == nullptr || rank(pair) >= rank(*best)) best = &pair;
  }
  return best;
}

std::string without_pairs(const Transfer& transfer) {
  if (transfer.changes.empty()) {
    return "No stored plan measures single changes: `nanobench ablate` or a suite of the design leave_one_out, "
           "add_one_in, pairs, factorial or history does.";
  }
  std::string text = "No change was measured at two scales: ";
  if (transfer.scales.size() == 1) {
    return text + counted(static_cast<std::int64_t>(transfer.changes.size()), "change was", "changes were") +
           " measured at " + transfer.scales.front() + " alone; run the same suite with another --scale too.";
  }
  return text + listed(transfer.scales) + " share none with the same values in the same base.";
}

void add_transfer_reading(Document& document, const Transfer& transfer) {
  document.reading = {
      "An effect is the later value minus the earlier one: below 0 is better. A change is the same at two scales if "
      "its "
      "values, the record it is measured in and that record's other settings are.",
      "signs, both decide: changes that the verdicts of both scales call better or worse; large decides: those of the "
      "large scale, against the sign of the small scale's estimate. Intervals are exact (Clopper and Pearson) for "
      "independent changes; changes of one plan share their base's runs, so they are a little less sure.",
      "order: Spearman's rank correlation with a 95 % interval (Bonett and Wright), from " +
          std::to_string(kMinRankPairs) +
          " changes on. It is of changes like these: a list of changes that all matter has another one.",
      "noise allows: the rank correlation that two scales with the same true order would have with these errors, from "
      "the standard errors and the runs that changes share. It is an estimate without an interval."};
  const bool has_published = std::any_of(transfer.changes.begin(), transfer.changes.end(),
                                         [](const TransferChange& change) { return change.published.has_value(); });
  if (!has_published) return;
  document.reading.emplace_back(
      "published: training times of the record table on 8 H100. Every record ends near the same loss, 3.28, by rule, "
      "so "
      "its change of time is one at equal loss, and nothing else here is compared with it. A feature's counts only "
      "where "
      "its record changed nothing else but numbers of steps, and where it is measured in that record or its parent.");
}

std::vector<Fact> transfer_facts(const Transfer& transfer) {
  std::int64_t shared = 0, published = 0;
  for (const TransferChange& change : transfer.changes) {
    shared += change.measured.size() > 1 ? 1 : 0;
    published += change.published && change.published->counts() ? 1 : 0;
  }
  return {{"scales", "scales", value_cell(listed(transfer.scales), transfer.scales)},
          {"changes", "changes", count_cell(static_cast<std::int64_t>(transfer.changes.size()))},
          {"shared", "at two scales", count_cell(shared)},
          {"published", "with a published time", count_cell(published)}};
}

}  // namespace

std::vector<std::string> transfer_headline(const Transfer& transfer) {
  const ScalePair* first = headline_pair(transfer);
  if (first == nullptr) return {without_pairs(transfer)};
  std::vector<std::string> sentences = {pair_sentence(*first)};
  for (const ScalePair& pair : transfer.pairs) {
    const bool is_beside = (pair.small == first->small && pair.large == first->large) || pair.is_published();
    if (&pair != first && is_beside) sentences.push_back(pair_sentence(pair));
  }
  return sentences;
}

Document transfer_report(const Transfer& transfer, std::size_t max_rows) {
  Document document{.kind = "transfer", .title = "Transfer between scales"};
  Section& head = document.sections.emplace_back();
  const std::vector<std::string> sentences = transfer_headline(transfer);
  document.headline = sentences.front();
  head.paragraphs.assign(sentences.begin() + 1, sentences.end());
  head.facts = transfer_facts(transfer);
  std::size_t left_out = 0, left_out_published = 0;
  const bool is_short = max_rows != std::numeric_limits<std::size_t>::max();
  Section& body = document.sections.emplace_back();
  body.tables = {pairs_table(transfer), shared_table(transfer, max_rows, left_out),
                 published_table(transfer, is_short, left_out_published), sources_table(transfer)};
  std::erase_if(body.tables, [](const Table& table) { return table.rows.empty(); });
  const auto note_left_out = [&](TransferRemark::Kind kind, std::size_t count) {
    if (count > 0)
      document.notes.push_back(text_of(TransferRemark{.kind = kind, .count = static_cast<std::int64_t>(count)}));
  };
  note_left_out(TransferRemark::Kind::kRowsLeftOut, left_out);
  note_left_out(TransferRemark::Kind::kPublishedLeftOut, left_out_published);
  for (const TransferRemark& note : transfer_notes(transfer)) document.notes.push_back(text_of(note));
  add_transfer_reading(document, transfer);
  return document;
}

}  // namespace nanobench::reports
