#include "reports/transfer/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/reports/transfer/made_changes.h"

namespace nanobench::reports {
namespace {

const ablations::Catalogue& catalogue() {
  static const ablations::Catalogue kCatalogue =
      ablations::Catalogue::embedded(ablations::CatalogueParts::kWithoutClaims);
  return kCatalogue;
}

const ScalePair* find_pair(const Transfer& transfer, const std::string& small, const std::string& large,
                           Question question) {
  for (const ScalePair& pair : transfer.pairs) {
    if (pair.small == small && pair.large == large && pair.question == question) return &pair;
  }
  return nullptr;
}

results::PlanRecord plan_of(results::Design design, const results::PlanContrast& contrast) {
  results::PlanRecord plan;
  plan.design = design;
  plan.contrasts = {contrast};
  for (const auto& [label, coefficient] : contrast.coefficients)
    plan.cells.push_back({.label = label, .record = "record17", .changes = {}, .features = {}, .config_digest = label});
  return plan;
}

results::PlanContrast contrast_of(results::ContrastKind kind, const std::string& from, const std::string& to) {
  return {.effect = "rotary",
          .kind = kind,
          .meaning = "",
          .coefficients = {{"base", -1.0}, {"other", 1.0}},
          .aliases = {},
          .factors = {{"rotary", "rotary", from, to}}};
}

TEST(ChangeOf, IsFeatureValuesAndBase) {
  results::PlanRecord plan =
      plan_of(results::Design::kLeaveOneOut, contrast_of(results::ContrastKind::kSimple, "full_10000", "half_1024"));
  plan.cells[0].features = {{"qk_norm", "off"}};
  plan.cells[1].features = {{"qk_norm", "off"}, {"rotary", "half_1024"}, {"pulled_in", "x"}};
  const auto key = change_of(plan, plan.contrasts[0]);
  ASSERT_TRUE(key);
  EXPECT_EQ(*key, (ChangeKey{"rotary", "full_10000", "half_1024", "record17", "qk_norm=off"}));
  EXPECT_EQ(key->base_text(), "record17, qk_norm=off");
}

TEST(ChangeOf, MainEffectsAreMeansOverTheOtherFactors) {
  results::PlanContrast main = contrast_of(results::ContrastKind::kMain, "a", "b");
  results::PlanRecord plan = plan_of(results::Design::kFactorial, main);
  results::PlanContrast other = main;
  other.factors = {{"qk_norm", "qk_norm", "off", "on"}};
  plan.contrasts.push_back(other);
  EXPECT_EQ(change_of(plan, main)->base, "averaged over qk_norm");
  main.aliases = {"x x y"};
  EXPECT_EQ(change_of(plan, main)->base, "averaged over qk_norm, with x x y");
}

TEST(ChangeOf, StepsOfAHistoryAreKnownByTheirRecords) {
  results::PlanContrast step = contrast_of(results::ContrastKind::kSimple, "record12", "record13");
  const results::PlanRecord plan = plan_of(results::Design::kHistory, step);
  EXPECT_EQ(*change_of(plan, step), (ChangeKey{"record", "record12", "record13", "", ""}));
}

TEST(ChangeOf, NothingElseIsAChange) {
  results::PlanContrast contrast = contrast_of(results::ContrastKind::kInteraction, "a", "b");
  EXPECT_FALSE(change_of(plan_of(results::Design::kPairs, contrast), contrast));
  contrast = contrast_of(results::ContrastKind::kSimple, "", "");
  EXPECT_FALSE(change_of(plan_of(results::Design::kLeaveOneOut, contrast), contrast)) << "stored without levels";
  contrast = contrast_of(results::ContrastKind::kSimple, "a", "b");
  results::PlanRecord plan = plan_of(results::Design::kLeaveOneOut, contrast);
  plan.cells[1].record = "record18";
  EXPECT_FALSE(change_of(plan, contrast)) << "two records";
}

TEST(Transfer, CountsSignsAndNamesThoseThatDisagree) {
  std::vector<MeasuredChange> measured;
  // Decided at both: a, b agree, c does not. d is decided at nano alone, with smoke's estimate on the other side.
  for (const auto& [name, smoke, nano] : {std::tuple{"a", -0.01, -0.02},
                                          {"b", 0.01, 0.005},
                                          {"c", -0.01, 0.01},
                                          {"d", 0.001, -0.02},
                                          {"e", -0.001, -0.03},
                                          {"f", -0.02, 0.0001}}) {
    measured.push_back(made_change(name, "nano", nano));
    measured.push_back(made_change(name, "smoke", smoke));
  }
  const Transfer transfer = analyse_transfer(measured, catalogue());
  EXPECT_EQ(transfer.scales, (std::vector<std::string>{"smoke", "nano"})) << "smallest runs first";
  const ScalePair* pair = find_pair(transfer, "smoke", "nano", Question::kLoss);
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->changes.size(), 6U);
  EXPECT_EQ(pair->decided.of, 3);
  EXPECT_EQ(pair->decided.agree, 2);
  EXPECT_EQ(pair->decided.disagreeing, (std::vector<std::string>{"c"}));
  EXPECT_EQ(pair->predicted.of, 5);
  EXPECT_EQ(pair->predicted.agree, 3);
  EXPECT_EQ(pair->predicted.disagreeing, (std::vector<std::string>{"c", "d"}));
  EXPECT_GT(pair->predicted.interval->low, 0.1);
  EXPECT_LT(pair->predicted.interval->high, 0.96);
  ASSERT_TRUE(pair->order);
  EXPECT_EQ(pair->order->n, 6);
}

TEST(Transfer, NoiseBoundsTheOrder) {
  std::vector<MeasuredChange> measured;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "f" + std::to_string(i);
    measured.push_back(made_change(name, "smoke", 0.001 * i, 0.006));
    measured.push_back(made_change(name, "nano", 0.001 * i, 0.0001));
  }
  const Transfer transfer = analyse_transfer(measured, catalogue());
  const ScalePair* pair = find_pair(transfer, "smoke", "nano", Question::kLoss);
  ASSERT_NE(pair, nullptr);
  EXPECT_GT(*pair->large_reliability, 0.99);
  EXPECT_LT(*pair->small_reliability, 0.75);
  EXPECT_NEAR(*pair->ceiling(), std::sqrt(*pair->small_reliability * *pair->large_reliability), 1e-12);
}

TEST(Transfer, OneRunHasAValueAndNoError) {
  std::vector<MeasuredChange> measured;
  for (int i = 0; i < 6; ++i) {
    measured.push_back(made_change("f" + std::to_string(i), "smoke", 0.001 * i + 0.0005, std::nullopt));
    measured.push_back(made_change("f" + std::to_string(i), "nano", 0.001 * i + 0.0005, std::nullopt));
  }
  const Transfer transfer = analyse_transfer(measured, catalogue());
  const ScalePair* pair = find_pair(transfer, "smoke", "nano", Question::kLoss);
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->decided.of, 0);
  EXPECT_FALSE(pair->decided.interval);
  EXPECT_FALSE(pair->ceiling());
  EXPECT_TRUE(pair->order);
}

TEST(Transfer, OtherValuesAndOtherBasesAreOtherChanges) {
  MeasuredChange a = made_change("rotary", "smoke", 0.01), b = made_change("rotary", "nano", 0.01);
  b.key.base_record = "record41";
  Transfer transfer = analyse_transfer({a, b}, catalogue());
  EXPECT_EQ(transfer.changes.size(), 2U);
  EXPECT_TRUE(transfer.pairs.empty());
  EXPECT_EQ(transfer.changes[0].name, "rotary (record17)");
  EXPECT_EQ(transfer.changes[1].name, "rotary (record41)");
  b.key = a.key;
  b.key.to = "third";
  transfer = analyse_transfer({a, b}, catalogue());
  EXPECT_TRUE(transfer.pairs.empty());
  EXPECT_NE(transfer.changes[0].name, transfer.changes[1].name);
}

TEST(Transfer, LossesThatAreEqualToTheBitSayNothingOfTheLoss) {
  std::vector<MeasuredChange> measured;
  for (const char* scale : {"smoke", "nano"}) {
    measured.push_back(made_change("code", scale, 0.0, std::nullopt));
    measured.back().effect.loss.is_exact = true;
    measured.push_back(made_change("rotary", scale, 0.01));
  }
  const Transfer transfer = analyse_transfer(measured, catalogue());
  const ScalePair* pair = find_pair(transfer, "smoke", "nano", Question::kLoss);
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->changes.size(), 1U);
  EXPECT_EQ(pair->equal, 1);
}

TEST(Transfer, TimesOfDifferentCodeAreNotCompared) {
  MeasuredChange change = made_change("rotary", "smoke", 0.01);
  change.effect.log_time.value = 0.1;
  set_equal_loss(change, 0.1, FeatureVerdict::kInconclusive);
  EXPECT_TRUE(value_of(change.effect, Question::kTime));
  EXPECT_NEAR(value_of(change.effect, Question::kEqualLoss)->value, 0.1, 1e-12);
  EXPECT_NEAR(value_of(change.effect, Question::kEqualLoss)->interval->low, 0.096, 1e-12);
  change.effect.other_code = {"attention"};
  EXPECT_FALSE(value_of(change.effect, Question::kTime));
  EXPECT_FALSE(value_of(change.effect, Question::kEqualLoss));
  EXPECT_TRUE(value_of(change.effect, Question::kLoss));
}

TEST(Transfer, StepsOfAHistoryAreComparedWithThePublishedTimes) {
  const Transfer transfer =
      analyse_transfer({made_step("record12", "record13", "nano", -0.05, FeatureVerdict::kKeep),
                        made_step("record13", "record14", "nano", 0.04, FeatureVerdict::kDrop),
                        made_step("record14", "record15", "nano", 0.01, FeatureVerdict::kInconclusive)},
                       catalogue());
  const ScalePair* pair = find_pair(transfer, "nano", kPublishedScale, Question::kEqualLoss);
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(find_pair(transfer, "nano", kPublishedScale, Question::kLoss), nullptr) << "losses are held at 3.28";
  EXPECT_EQ(find_pair(transfer, "nano", kPublishedScale, Question::kTime), nullptr);
  EXPECT_EQ(pair->decided.of, 2);
  EXPECT_EQ(pair->decided.agree, 1);
  EXPECT_EQ(pair->decided.disagreeing, (std::vector<std::string>{"record14"}));
  EXPECT_EQ(pair->predicted.of, 3);
  EXPECT_FALSE(pair->order) << "three are too few";
  EXPECT_FALSE(pair->ceiling());
}

ChangeKey key_of(const std::string& feature, const std::string& base_record, const std::string& base = "") {
  const ablations::Feature& known = catalogue().feature(feature);
  return {feature, known.before, known.after, base_record, base};
}

TEST(PublishedChange, OfAStepIsTheRatioOfItsRecords) {
  const auto change = published_change(catalogue(), {"record", "record12", "record13", "", ""});
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->counts());
  EXPECT_NEAR(change->log_ratio, std::log(279.562 / 301.825), 1e-9);
  const auto official = published_change(catalogue(), {"record", "record1", "record2", "", ""});
  ASSERT_TRUE(official) << "the first records have official minutes only";
  EXPECT_NEAR(official->log_ratio, std::log(31.4 / 45.0), 1e-9);
  EXPECT_FALSE(published_change(catalogue(), {"record", "record12", "nowhere", "", ""}));
  const auto other = published_change(catalogue(), {"record", "record72", "record73", "", ""});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->limit, (PublishedLimit{.kind = PublishedLimit::Kind::kOtherScript}));
  EXPECT_EQ(other->note, catalogue().record("record73").note);
  EXPECT_FALSE(other->note.empty());
  EXPECT_FALSE(published_change(catalogue(), {"record", "record85", "record86", "", ""})->counts()) << "of the first";
}

TEST(PublishedChange, OfAFeatureCountsOnlyAlone) {
  using Kind = PublishedLimit::Kind;
  // Record 30 changed the MLP of one layer, and steps.
  const auto alone = published_change(catalogue(), key_of("mlp_skip", "record30"));
  ASSERT_TRUE(alone);
  EXPECT_TRUE(alone->counts());
  EXPECT_EQ(alone->record, "record30");
  EXPECT_NEAR(alone->log_ratio, std::log(163.035 / 163.838), 1e-9);
  EXPECT_TRUE(published_change(catalogue(), key_of("mlp_skip", "record29"))->counts()) << "added to the parent";
  EXPECT_EQ(published_change(catalogue(), key_of("mlp_skip", "record41"))->limit,
            (PublishedLimit{.kind = Kind::kOtherBase, .base = "record41"}));
  EXPECT_EQ(published_change(catalogue(), key_of("mlp_skip", "record30", "qk_norm=off"))->limit,
            (PublishedLimit{.kind = Kind::kOtherBase, .base = "record30, qk_norm=off"}));
  const auto rotary = published_change(catalogue(), key_of("rotary", "record17"));
  ASSERT_TRUE(rotary);
  ASSERT_FALSE(rotary->counts());
  EXPECT_EQ(rotary->limit->kind, Kind::kOtherChanges);
  EXPECT_FALSE(rotary->limit->others.empty());
  // Record 37's logs are of another version of PyTorch too, which no setting shows.
  EXPECT_FALSE(published_change(catalogue(), key_of("cross_entropy_precision", "record37"))->counts());
  EXPECT_FALSE(published_change(catalogue(), {"no_such_feature", "a", "b", "record17", ""}));
}

TEST(PublishedChange, NumbersOfStepsAreNoOtherChange) {
  EXPECT_TRUE(differs_in_steps_alone(catalogue().feature("training_steps"), "1750", "1530"));
  EXPECT_TRUE(differs_in_steps_alone(catalogue().feature("learning_rate_cooldown"), "640", "600"));
  EXPECT_FALSE(differs_in_steps_alone(catalogue().feature("extension_steps"), "0", "40")) << "switched on";
  EXPECT_FALSE(differs_in_steps_alone(catalogue().feature("momentum_warmup"), "500", "300"));
  EXPECT_FALSE(differs_in_steps_alone(catalogue().feature("rotary"), "full_10000", "half_1024"));
}

}  // namespace
}  // namespace nanobench::reports
