/// JSON names of TrainConfig's enumerations. "do not change": they are stored.
#pragma once

#include "core/base/enum_names.h"
#include "core/config/train_config.h"

namespace nanobench::core {

NB_ENUM_NAMES(Activation, 3, {Activation::kReluSquared, "relu_squared"}, {Activation::kGelu, "gelu"},
              {Activation::kGeluTanh, "gelu_tanh"});
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

NB_ENUM_NAMES(NormType, 2, {NormType::kRms, "rms"}, {NormType::kLayer, "layer"});
NB_ENUM_NAMES(PositionEncoding, 3, {PositionEncoding::kRotary, "rotary"}, {PositionEncoding::kLearned, "learned"},
              {PositionEncoding::kNone, "none"});
NB_ENUM_NAMES(QkNormPosition, 2, {QkNormPosition::kBeforeRotation, "before_rotation"},
              {QkNormPosition::kAfterRotation, "after_rotation"});
NB_ENUM_NAMES(ValueTableLayout, 2, {ValueTableLayout::kSeparate, "separate"}, {ValueTableLayout::kJoined, "joined"});
NB_ENUM_NAMES(AttentionImplementation, 2, {AttentionImplementation::kTiled, "tiled"},
              {AttentionImplementation::kDense, "dense"});
NB_ENUM_NAMES(KeyBlockOrder, 2, {KeyBlockOrder::kAscending, "ascending"},
              {KeyBlockOrder::kNearestFirst, "nearest_first"});
NB_ENUM_NAMES(AttentionProducts, 2, {AttentionProducts::kWarp, "warp"}, {AttentionProducts::kWarpgroup, "warpgroup"});
NB_ENUM_NAMES(NewtonSchulzForm, 2, {NewtonSchulzForm::kGrouped, "grouped"}, {NewtonSchulzForm::kTerms, "terms"});
NB_ENUM_NAMES(NewtonSchulzNorm, 2, {NewtonSchulzNorm::kRounded, "rounded"}, {NewtonSchulzNorm::kExact, "exact"});
NB_ENUM_NAMES(ScaleApplication, 2, {ScaleApplication::kRate, "rate"}, {ScaleApplication::kUpdate, "update"});
NB_ENUM_NAMES(GradientClipType, 3, {GradientClipType::kNone, "none"}, {GradientClipType::kGlobalNorm, "global_norm"},
              {GradientClipType::kPerParameter, "per_parameter"});
NB_ENUM_NAMES(LearningRateShape, 2, {LearningRateShape::kTrapezoid, "trapezoid"},
              {LearningRateShape::kCosine, "cosine"});
NB_ENUM_NAMES(BatchOrder, 2, {BatchOrder::kSequential, "sequential"}, {BatchOrder::kShuffled, "shuffled"});
NB_ENUM_NAMES(ShardStorage, 3, {ShardStorage::kMapped, "mapped"}, {ShardStorage::kRead, "read"},
              {ShardStorage::kPinned, "pinned"});
NB_ENUM_NAMES(FetchTime, 3, {FetchTime::kStepStart, "step_start"}, {FetchTime::kAfterForward, "after_forward"},
              {FetchTime::kAfterBackward, "after_backward"});
NB_ENUM_NAMES(TokenDtype, 2, {TokenDtype::kInt64, "int64"}, {TokenDtype::kInt32, "int32"});
NB_ENUM_NAMES(GradientSync, 2, {GradientSync::kLastMicroStep, "last_micro_step"},
              {GradientSync::kEveryMicroStep, "every_micro_step"});
NB_ENUM_NAMES(ReductionSchedule, 3, {ReductionSchedule::kOverlappedBuckets, "overlapped_buckets"},
              {ReductionSchedule::kBuckets, "buckets"}, {ReductionSchedule::kPerParameter, "per_parameter"});
NB_ENUM_NAMES(BucketStorage, 2, {BucketStorage::kViews, "views"}, {BucketStorage::kCopies, "copies"});
NB_ENUM_NAMES(MuonSharding, 3, {MuonSharding::kReplicated, "replicated"}, {MuonSharding::kAllReduce, "all_reduce"},
              {MuonSharding::kAllGather, "all_gather"});
NB_ENUM_NAMES(GatherTiming, 2, {GatherTiming::kAsynchronous, "asynchronous"}, {GatherTiming::kBlocking, "blocking"});
NB_ENUM_NAMES(GatherBuffer, 2, {GatherBuffer::kContiguous, "contiguous"}, {GatherBuffer::kSeparate, "separate"});
NB_ENUM_NAMES(MatrixInit, 2, {MatrixInit::kZero, "zero"}, {MatrixInit::kLinear, "linear"});
NB_ENUM_NAMES(TableInit, 3, {TableInit::kByHead, "by_head"}, {TableInit::kNormal, "normal"},
              {TableInit::kLinear, "linear"});
NB_ENUM_NAMES(InitScheme, 2, {InitScheme::kRecords, "records"}, {InitScheme::kGpt2, "gpt2"});
NB_ENUM_NAMES(ActivationPrecision, 3, {ActivationPrecision::kFloat32, "float32"},
              {ActivationPrecision::kAutocast, "autocast"}, {ActivationPrecision::kBfloat16, "bfloat16"});
NB_ENUM_NAMES(ValidationPrecision, 2, {ValidationPrecision::kTraining, "training"},
              {ValidationPrecision::kFloat32, "float32"});
NB_ENUM_NAMES(StoredPrecision, 2, {StoredPrecision::kFloat32, "float32"}, {StoredPrecision::kBfloat16, "bfloat16"});
NB_ENUM_NAMES(ParameterStorage, 2, {ParameterStorage::kFloat32, "float32"},
              {ParameterStorage::kBfloat16Stochastic, "bfloat16_stochastic"});
NB_ENUM_NAMES(RotaryPrecision, 3, {RotaryPrecision::kFloat32, "float32"},
              {RotaryPrecision::kBfloat16Tables, "bfloat16_tables"},
              {RotaryPrecision::kBfloat16Frequencies, "bfloat16_frequencies"});
NB_ENUM_NAMES(HeadPrecision, 2, {HeadPrecision::kActivations, "activations"}, {HeadPrecision::kFp8, "fp8"});

}  // namespace nanobench::core
