#include <gtest/gtest.h>

#include <algorithm>

#include "reports/charts/charts.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/transfer_remarks.h"
#include "reports/render/render.h"
#include "reports/transfer/transfer_text.h"
#include "tests/reports/transfer/made_changes.h"

namespace nanobench::reports {
namespace {

using Kind = TransferRemark::Kind;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Transfer transfer_of(const std::vector<MeasuredChange>& measured) {
  static const ablations::Catalogue kCatalogue =
      ablations::Catalogue::embedded(ablations::CatalogueParts::kWithoutClaims);
  return analyse_transfer(measured, kCatalogue);
}

/// Twelve changes in the same order at both scales but for one, whose sign is opposite.
std::vector<MeasuredChange> two_scales() {
  std::vector<MeasuredChange> measured;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "f" + std::to_string(i);
    const double loss = 0.01 * (i - 5.5);
    measured.push_back(made_change(name, "nano", i == 11 ? -0.07 : loss));
    measured.push_back(made_change(name, "smoke", 0.5 * loss));
  }
  return measured;
}

/// The only test of this sentence: all others compare values.
TEST(TransferReport, SaysHowFarItPredictsFirst) {
  const Transfer transfer = transfer_of(two_scales());
  const std::vector<std::string> headline = transfer_headline(transfer);
  ASSERT_EQ(headline.size(), 1U);
  EXPECT_EQ(headline[0],
            "smoke has the sign of 11 of the 12 effects on the loss that nano decides (62 % to 100 %); not of f11; the "
            "order agrees with 0.54 (-0.10 to 0.86), which may be no agreement; noise alone would allow about 1.00, so "
            "the scales seem to differ by more than noise.");
  const ScalePair& pair = transfer.pairs.at(0);
  EXPECT_EQ(pair.predicted.agree, 11);
  EXPECT_EQ(pair.predicted.of, 12);
  EXPECT_EQ(pair.predicted.disagreeing, std::vector<std::string>{"f11"});
  EXPECT_NEAR(pair.order->r, 0.55, 0.05);
  EXPECT_NEAR(*pair.ceiling(), 1.0, 0.005);
  EXPECT_LT(pair.order->interval.high, *pair.ceiling()) << "more than noise";
}

TEST(TransferReport, MachinesReadTheSame) {
  const Transfer transfer = transfer_of(two_scales());
  const core::OrderedJson json = to_json(transfer_report(transfer));
  EXPECT_EQ(json.at("kind"), "transfer");
  EXPECT_EQ(json.at("headline"), transfer_headline(transfer).front());
  EXPECT_EQ(json.at("facts").at("scales"), (std::vector<std::string>{"smoke", "nano"}));
  EXPECT_EQ(json.at("facts").at("shared"), 12);
  const core::OrderedJson& pair = json.at("tables").at("pairs").at(0);
  EXPECT_EQ(pair.at("small"), "smoke");
  EXPECT_EQ(pair.at("large"), "nano");
  EXPECT_EQ(pair.at("on"), "loss");
  EXPECT_EQ(pair.at("predicted").at("agree"), 11);
  EXPECT_EQ(pair.at("predicted").at("of"), 12);
  EXPECT_LT(pair.at("predicted").at("low").get<double>(), 11.0 / 12.0);
  EXPECT_LT(pair.at("order").at("low").get<double>(), pair.at("order").at("value").get<double>());
  EXPECT_GT(pair.at("noise_allows").at("value").get<double>(), 0.9);
  EXPECT_EQ(pair.at("opposite"), "f11");
  EXPECT_EQ(json.at("tables").at("shared").size(), 12U);
  EXPECT_EQ(json.at("tables").at("shared").at(11).at("signs"), "opposite");
  EXPECT_EQ(json.at("tables").at("shared").at(11).at("large_effect").at("direction"), "better");
  EXPECT_EQ(json.at("tables").at("sources").size(), 2U);
}

TEST(TransferReport, ATerminalShowsOppositeSignsAndCountsTheRest) {
  const Document document = transfer_report(transfer_of(two_scales()), 5);
  EXPECT_EQ(document.notes.at(0), text_of(TransferRemark{.kind = Kind::kRowsLeftOut, .count = 11}));
  EXPECT_EQ(document.sections[1].tables[1].rows.size(), 1U);
}

TEST(TransferReport, EveryFormHasIt) {
  Document document = transfer_report(transfer_of(two_scales()));
  document.sections.back().charts = transfer_charts(transfer_of(two_scales()));
  const std::string title = document.title;
  for (const std::string& text : {render_terminal(document, {}), render_markdown(document), render_html(document)}) {
    EXPECT_TRUE(has(text, title)) << text;
    EXPECT_TRUE(has(text, "f11"));
  }
  EXPECT_TRUE(has(render_html(document), document.headline));
}

TEST(TransferReport, AChartHasEveryChangeWithItsIntervals) {
  const std::vector<Chart> charts = transfer_charts(transfer_of(two_scales()));
  ASSERT_EQ(charts.size(), 1U);
  ASSERT_EQ(charts[0].data.rows.size(), 12U);
  EXPECT_EQ(charts[0].data.rows[11][0].text, "f11");
  EXPECT_EQ(charts[0].data.rows[11][7].text, "opposite");
  EXPECT_LT(charts[0].data.rows[0][2].value.get<double>(), charts[0].data.rows[0][3].value.get<double>());
  EXPECT_FALSE(has(charts[0].spec.dump(), "f11")) << "names are data";
  EXPECT_TRUE(transfer_charts(transfer_of(two_scales()), 0).empty());
}

TEST(TransferReport, FewChangesGetNoCorrelation) {
  std::vector<MeasuredChange> measured;
  for (const char* scale : {"smoke", "nano"}) measured.push_back(made_change("rotary", scale, -0.01));
  const Transfer transfer = transfer_of(measured);
  const ScalePair& pair = transfer.pairs.at(0);
  EXPECT_EQ(pair.changes.size(), 1U);
  EXPECT_FALSE(pair.order) << "too few to compare orders";
  EXPECT_EQ(pair.predicted.agree, 1);
  EXPECT_EQ(pair.predicted.of, 1);
  const core::OrderedJson json = to_json(transfer_report(transfer));
  EXPECT_TRUE(json.at("tables").at("pairs").at(0).at("order").is_null());
  EXPECT_TRUE(transfer_charts(transfer).empty());
}

TEST(TransferReport, OneScaleSaysWhatIsMissing) {
  EXPECT_EQ(transfer_headline(transfer_of({made_change("rotary", "smoke", 0.01)})),
            std::vector<std::string>{"No change was measured at two scales: 1 change was measured at smoke alone; run "
                                     "the same suite with another --scale too."});
  EXPECT_EQ(transfer_headline(transfer_of({})),
            std::vector<std::string>{"No stored plan measures single changes: `nanobench ablate` or a suite of the "
                                     "design leave_one_out, add_one_in, pairs, factorial or history does."});
  MeasuredChange other = made_change("rotary", "nano", 0.01);
  other.key.base_record = "record41";
  const Transfer apart = transfer_of({made_change("rotary", "smoke", 0.01), other});
  EXPECT_EQ(transfer_headline(apart),
            std::vector<std::string>{"No change was measured at two scales: smoke and nano share none with the same "
                                     "values in the same base."});
  EXPECT_EQ(apart.scales, (std::vector<std::string>{"smoke", "nano"}));
  EXPECT_TRUE(apart.pairs.empty());
  const std::vector<TransferRemark> notes = transfer_notes(apart);
  const TransferRemark bases{.kind = Kind::kOtherBases,
                             .places = {{.change = "rotary", .base = "record17", .scales = {"smoke"}},
                                        {.change = "rotary", .base = "record41", .scales = {"nano"}}}};
  EXPECT_TRUE(std::find(notes.begin(), notes.end(), bases) != notes.end());
  EXPECT_EQ(transfer_report(apart).notes.size(), notes.size());
}

TEST(TransferReport, NotesNameWhatIsNotTheScaleAlone) {
  std::vector<MeasuredChange> measured = two_scales();
  for (MeasuredChange& change : measured) {
    if (change.scale == "nano") change.data_name = "shards";
  }
  measured.front().effect.other_code = {"blocks"};
  const Transfer transfer = transfer_of(measured);
  const std::vector<TransferRemark> notes = transfer_notes(transfer);
  EXPECT_EQ(notes,
            (std::vector<TransferRemark>{
                {.kind = Kind::kOtherData,
                 .places = {{.scales = {"smoke"}, .data = {"synthetic"}}, {.scales = {"nano"}, .data = {"shards"}}}},
                {.kind = Kind::kOtherCode, .places = {{.change = "f0", .scales = {"nano"}}}},
                {.kind = Kind::kUnconverted,
                 .places = {{.scales = {"smoke"}, .count = 12}, {.scales = {"nano"}, .count = 11}}}}));
  const Document document = transfer_report(transfer);
  ASSERT_EQ(document.notes.size(), notes.size());
  for (std::size_t i = 0; i < notes.size(); ++i) EXPECT_EQ(document.notes[i], text_of(notes[i]));
}

TEST(TransferReport, NothingIsDecidedByOneSeed) {
  std::vector<MeasuredChange> measured;
  for (int i = 0; i < 6; ++i) {
    for (const char* scale : {"smoke", "nano"})
      measured.push_back(made_change("f" + std::to_string(i), scale, 0.001 * (i + 1), std::nullopt));
  }
  const Transfer transfer = transfer_of(measured);
  const ScalePair& pair = transfer.pairs.at(0);
  EXPECT_EQ(pair.large, "nano");
  EXPECT_EQ(pair.changes.size(), 6U);
  EXPECT_EQ(pair.predicted.of, 0) << "no direction is decided";
  EXPECT_EQ(pair.most_seeds, 1);
  EXPECT_FALSE(pair.ceiling()) << "the runs give no error, so what noise allows is not known";
}

TEST(TransferReport, PublishedTimesThatDoNotCountSayWhy) {
  MeasuredChange rotary = made_change("rotary", "nano", -0.01);
  rotary.key = {"rotary", "full_10000", "half_1024", "record17", ""};
  const Transfer transfer =
      transfer_of({rotary, made_step("record12", "record13", "nano", -0.05, FeatureVerdict::kKeep)});
  const core::OrderedJson json = to_json(transfer_report(transfer));
  const core::OrderedJson& published = json.at("tables").at("published");
  ASSERT_EQ(published.size(), 2U);
  EXPECT_EQ(published.at(1).at("counts"), false);
  const PublishedLimit& limit = *transfer.changes.at(0).published->limit;
  EXPECT_EQ(limit.kind, PublishedLimit::Kind::kOtherChanges);
  EXPECT_EQ(published.at(1).at("reason"), text_of(limit));
  EXPECT_EQ(published.at(0).at("counts"), true) << "those that count come first";
  EXPECT_NEAR(published.at(0).at("ratio").get<double>(), 279.562 / 301.825 - 1.0, 1e-9);
  EXPECT_EQ(json.at("facts").at("published"), 1);
  EXPECT_EQ(transfer_report(transfer).reading.size(), transfer_report(transfer_of({})).reading.size() + 1)
      << "it says what a published time is";
}

}  // namespace
}  // namespace nanobench::reports
