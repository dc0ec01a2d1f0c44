/// JSON names of TrainConfig's enumerations. "do not change": they are stored.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/train_config.h"

namespace nanobench::core {

template <class Enum>
struct EnumNames;  ///< values(): array of {enumerator, name}

#define NB_ENUM_NAMES(Enum, count, ...)                                                                        \
  template <>                                                                                                  \
  struct EnumNames<Enum> {                                                                                     \
    static constexpr std::array<std::pair<Enum, std::string_view>, count> values() { return {{__VA_ARGS__}}; } \
  }

NB_ENUM_NAMES(Activation, 2, {Activation::kReluSquared, "relu_squared"}, {Activation::kGelu, "gelu"});
NB_ENUM_NAMES(ValueSource, 3, {ValueSource::kNone, "none"}, {ValueSource::kFirstLayer, "first_layer"},
              {ValueSource::kTokens, "tokens"});
NB_ENUM_NAMES(ValueMix, 3, {ValueMix::kNone, "none"}, {ValueMix::kLerp, "lerp"}, {ValueMix::kPair, "pair"});
NB_ENUM_NAMES(QkvRows, 2, {QkvRows::kSeparate, "separate"}, {QkvRows::kStacked, "stacked"});
NB_ENUM_NAMES(SoftcapForm, 2, {SoftcapForm::kTanh, "tanh"}, {SoftcapForm::kSigmoid, "sigmoid"});
NB_ENUM_NAMES(WindowGranularity, 3, {WindowGranularity::kToken, "token"},
              {WindowGranularity::kTokenBlockClipped, "token_block_clipped"}, {WindowGranularity::kBlock, "block"});
NB_ENUM_NAMES(WindowScheduleType, 3, {WindowScheduleType::kConstant, "constant"}, {WindowScheduleType::kNone, "none"},
              {WindowScheduleType::kLinear, "linear"});
NB_ENUM_NAMES(WindowRounding, 2, {WindowRounding::kFloor, "floor"}, {WindowRounding::kCeil, "ceil"});
NB_ENUM_NAMES(OptimizerType, 2, {OptimizerType::kAdam, "adam"}, {OptimizerType::kMuon, "muon"});
NB_ENUM_NAMES(MomentumForm, 2, {MomentumForm::kLerp, "lerp"}, {MomentumForm::kAccumulate, "accumulate"});
NB_ENUM_NAMES(Orthogonalizer, 2, {Orthogonalizer::kNewtonSchulz, "newton_schulz"}, {Orthogonalizer::kSvd, "svd"});
NB_ENUM_NAMES(NewtonSchulzDtype, 2, {NewtonSchulzDtype::kCompute, "compute"},
              {NewtonSchulzDtype::kBfloat16, "bfloat16"});
NB_ENUM_NAMES(UpdateScale, 3, {UpdateScale::kNone, "none"},
              {UpdateScale::kSqrtRowsOverColumns, "sqrt_rows_over_columns"},
              {UpdateScale::kSqrtLargestSide, "sqrt_largest_side"});
NB_ENUM_NAMES(LoaderPosition, 2, {LoaderPosition::kPerRank, "per_rank"}, {LoaderPosition::kGlobal, "global"});
NB_ENUM_NAMES(GradientReduction, 2, {GradientReduction::kMean, "mean"},
              {GradientReduction::kMeanOverRanks, "mean_over_ranks"});

#undef NB_ENUM_NAMES

template <class Enum>
std::string enum_name(Enum value) {
  for (const auto& [candidate, name] : EnumNames<Enum>::values()) {
    if (candidate == value) return std::string(name);
  }
  return "?";
}

template <class Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& [unused, name] : EnumNames<Enum>::values()) names.emplace_back(name);
  return names;
}

}  // namespace nanobench::core
