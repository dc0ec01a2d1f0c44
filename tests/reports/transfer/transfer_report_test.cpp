#include <gtest/gtest.h>

#include <algorithm>

#include "reports/charts/charts.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "tests/reports/transfer/made_changes.h"

namespace nanobench::reports {
namespace {

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

TEST(TransferReport, SaysHowFarItPredictsFirst) {
  const std::vector<std::string> headline = transfer_headline(transfer_of(two_scales()));
  ASSERT_EQ(headline.size(), 1U);
  EXPECT_TRUE(has(headline[0], "smoke has the sign of 11 of the 12 effects on the loss that nano decides"))
      << headline[0];
  EXPECT_TRUE(has(headline[0], "not of f11; the order agrees with 0.5")) << headline[0];
  EXPECT_TRUE(has(headline[0], "noise alone would allow about 1.00, so the scales seem to differ by more than noise"))
      << headline[0];
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
  const std::string text = render_markdown(document);
  EXPECT_TRUE(has(text, "11 rows of changes whose signs are not opposite left out")) << text;
  EXPECT_EQ(document.sections[1].tables[1].rows.size(), 1U);
}

TEST(TransferReport, EveryFormHasIt) {
  Document document = transfer_report(transfer_of(two_scales()));
  document.sections.back().charts = transfer_charts(transfer_of(two_scales()));
  for (const std::string& text : {render_terminal(document, {}), render_markdown(document), render_html(document)}) {
    EXPECT_TRUE(has(text, "smoke has the sign of 11 of the 12")) << text;
    EXPECT_TRUE(has(text, "f11"));
  }
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
  const std::string headline = transfer_headline(transfer).front();
  EXPECT_TRUE(has(headline, "1 shared change is too few to compare orders (5 needed)")) << headline;
  EXPECT_TRUE(has(headline, "1 of the 1 effect on the loss that nano decides")) << headline;
  const core::OrderedJson json = to_json(transfer_report(transfer));
  EXPECT_TRUE(json.at("tables").at("pairs").at(0).at("order").is_null());
  EXPECT_TRUE(transfer_charts(transfer).empty());
}

TEST(TransferReport, OneScaleSaysWhatIsMissing) {
  EXPECT_TRUE(has(transfer_headline(transfer_of({made_change("rotary", "smoke", 0.01)})).front(),
                  "No change was measured at two scales: 1 change was measured at smoke alone"));
  EXPECT_TRUE(has(transfer_headline(transfer_of({})).front(), "No stored plan measures single changes"));
  MeasuredChange other = made_change("rotary", "nano", 0.01);
  other.key.base_record = "record41";
  const Transfer apart = transfer_of({made_change("rotary", "smoke", 0.01), other});
  EXPECT_TRUE(has(transfer_headline(apart).front(), "smoke and nano share none")) << transfer_headline(apart).front();
  const Document document = transfer_report(apart);
  EXPECT_TRUE(std::any_of(document.notes.begin(), document.notes.end(), [](const std::string& note) {
    return has(note, "rotary (record17 at smoke; record41 at nano)");
  }));
}

TEST(TransferReport, NotesNameWhatIsNotTheScaleAlone) {
  std::vector<MeasuredChange> measured = two_scales();
  for (MeasuredChange& change : measured) {
    if (change.scale == "nano") change.data_name = "shards";
  }
  measured.front().effect.other_code = {"blocks"};
  const Document document = transfer_report(transfer_of(measured));
  const auto notes = [&](const std::string& part) {
    return std::any_of(document.notes.begin(), document.notes.end(),
                       [&](const std::string& note) { return has(note, part); });
  };
  EXPECT_TRUE(notes("smoke on synthetic; nano on shards"));
  EXPECT_TRUE(notes("Times of different code are left out (f0 at nano)"));
  EXPECT_TRUE(notes("Changes without a time at equal loss: 12 at smoke, 11 at nano"));
}

TEST(TransferReport, NothingIsDecidedByOneSeed) {
  std::vector<MeasuredChange> measured;
  for (int i = 0; i < 6; ++i) {
    for (const char* scale : {"smoke", "nano"})
      measured.push_back(made_change("f" + std::to_string(i), scale, 0.001 * (i + 1), std::nullopt));
  }
  const std::string headline = transfer_headline(transfer_of(measured)).front();
  EXPECT_TRUE(has(headline,
                  "nano decides the direction of none of 6 effects on the loss that it shares with smoke, so signs say "
                  "nothing (1 seed; "
                  "verdicts need 3)"))
      << headline;
  EXPECT_TRUE(has(headline, "the runs give no error, so what noise allows is not known")) << headline;
}

TEST(TransferReport, PublishedTimesThatDoNotCountSayWhy) {
  MeasuredChange rotary = made_change("rotary", "nano", -0.01);
  rotary.key = {"rotary", "full_10000", "half_1024", "record17", ""};
  const core::OrderedJson json = to_json(
      transfer_report(transfer_of({rotary, made_step("record12", "record13", "nano", -0.05, FeatureVerdict::kKeep)})));
  const core::OrderedJson& published = json.at("tables").at("published");
  ASSERT_EQ(published.size(), 2U);
  EXPECT_EQ(published.at(1).at("counts"), false);
  EXPECT_TRUE(has(published.at(1).at("reason").get<std::string>(), "together with"));
  EXPECT_EQ(published.at(0).at("counts"), true) << "those that count come first";
  EXPECT_NEAR(published.at(0).at("ratio").get<double>(), 279.562 / 301.825 - 1.0, 1e-9);
  EXPECT_EQ(json.at("facts").at("published"), 1);
  EXPECT_TRUE(has(json.dump(), "Every record ends near the same loss, 3.28, by rule"));
}

}  // namespace
}  // namespace nanobench::reports
