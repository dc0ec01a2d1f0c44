/// JSON names of TrainConfig's enumerations. They are stored: do not change them.
#pragma once

#include "core/base/enum_names.h"
#include "core/config/train_config.h"

namespace nanobench::core {

NB_ENUM_NAMES(Activation, {Activation::kReluSquared, "relu_squared"}, {Activation::kGelu, "gelu"},
              {Activation::kGeluTanh, "gelu_tanh"});
NB_ENUM_NAMES(ValueSource, {ValueSource::kNone, "none"}, {ValueSource::kFirstLayer, "first_layer"},
              {ValueSource::kTokens, "tokens"});
NB_ENUM_NAMES(ValueMix, {ValueMix::kNone, "none"}, {ValueMix::kLerp, "lerp"}, {ValueMix::kPair, "pair"},
              {ValueMix::kAdd, "add"}, {ValueMix::kGate, "gate"});
NB_ENUM_NAMES(RopePairing, {RopePairing::kHalf, "half"}, {RopePairing::kAdjacent, "adjacent"});
NB_ENUM_NAMES(HeadPairing, {HeadPairing::kHalves, "halves"}, {HeadPairing::kNeighbours, "neighbours"});
NB_ENUM_NAMES(LateSkipGate, {LateSkipGate::kNone, "none"}, {LateSkipGate::kX0, "x0"},
              {LateSkipGate::kGenerated, "generated"});
NB_ENUM_NAMES(BigramStart, {BigramStart::kReserved, "reserved"}, {BigramStart::kOwn, "own"});
NB_ENUM_NAMES(TargetNormalizer, {TargetNormalizer::kExisting, "existing"}, {TargetNormalizer::kAll, "all"});
NB_ENUM_NAMES(QkvRows, {QkvRows::kSeparate, "separate"}, {QkvRows::kStacked, "stacked"});
NB_ENUM_NAMES(MergedQkvo, {MergedQkvo::kOff, "off"}, {MergedQkvo::kBatched, "batched"}, {MergedQkvo::kWide, "wide"},
              {MergedQkvo::kRows, "rows"});
NB_ENUM_NAMES(AttentionWeightLambdas, {AttentionWeightLambdas::kNone, "none"}, {AttentionWeightLambdas::kQkv, "qkv"},
              {AttentionWeightLambdas::kQkvAndOutput, "qkv_and_output"});
NB_ENUM_NAMES(KeyOffsetDims, {KeyOffsetDims::kUpperHalf, "upper_half"}, {KeyOffsetDims::kQuarters, "quarters"});
NB_ENUM_NAMES(MeanAxis, {MeanAxis::kShape, "shape"}, {MeanAxis::kRow, "row"});
NB_ENUM_NAMES(SkipGate, {SkipGate::kLinear, "linear"}, {SkipGate::kSigmoid, "sigmoid"});
NB_ENUM_NAMES(RopeWindowScaling, {RopeWindowScaling::kNone, "none"}, {RopeWindowScaling::kYarn, "yarn"});
NB_ENUM_NAMES(SoftcapForm, {SoftcapForm::kTanh, "tanh"}, {SoftcapForm::kSigmoid, "sigmoid"});
NB_ENUM_NAMES(WindowGranularity, {WindowGranularity::kToken, "token"},
              {WindowGranularity::kTokenBlockClipped, "token_block_clipped"}, {WindowGranularity::kBlock, "block"},
              {WindowGranularity::kTokenInclusive, "token_inclusive"});
NB_ENUM_NAMES(WindowScheduleType, {WindowScheduleType::kConstant, "constant"}, {WindowScheduleType::kNone, "none"},
              {WindowScheduleType::kLinear, "linear"}, {WindowScheduleType::kList, "list"},
              {WindowScheduleType::kStages, "stages"});
NB_ENUM_NAMES(WindowRounding, {WindowRounding::kFloor, "floor"}, {WindowRounding::kCeil, "ceil"});
NB_ENUM_NAMES(OptimizerType, {OptimizerType::kAdam, "adam"}, {OptimizerType::kMuon, "muon"});
NB_ENUM_NAMES(MomentumForm, {MomentumForm::kLerp, "lerp"}, {MomentumForm::kAccumulate, "accumulate"});
NB_ENUM_NAMES(Orthogonalizer, {Orthogonalizer::kNewtonSchulz, "newton_schulz"}, {Orthogonalizer::kSvd, "svd"},
              {Orthogonalizer::kPolarExpress, "polar_express"});
NB_ENUM_NAMES(NewtonSchulzRounding, {NewtonSchulzRounding::kEachOperation, "each_operation"},
              {NewtonSchulzRounding::kFused, "fused"});
NB_ENUM_NAMES(EpsPosition, {EpsPosition::kCorrected, "corrected"}, {EpsPosition::kUncorrected, "uncorrected"});
NB_ENUM_NAMES(NewtonSchulzDtype, {NewtonSchulzDtype::kCompute, "compute"}, {NewtonSchulzDtype::kBfloat16, "bfloat16"});
NB_ENUM_NAMES(UpdateScale, {UpdateScale::kNone, "none"}, {UpdateScale::kSqrtRowsOverColumns, "sqrt_rows_over_columns"},
              {UpdateScale::kSqrtLargestSide, "sqrt_largest_side"});
NB_ENUM_NAMES(LoaderPosition, {LoaderPosition::kPerRank, "per_rank"}, {LoaderPosition::kGlobal, "global"});
NB_ENUM_NAMES(GradientReduction, {GradientReduction::kMean, "mean"},
              {GradientReduction::kMeanOverRanks, "mean_over_ranks"});

NB_ENUM_NAMES(NormType, {NormType::kRms, "rms"}, {NormType::kLayer, "layer"});
NB_ENUM_NAMES(PositionEncoding, {PositionEncoding::kRotary, "rotary"}, {PositionEncoding::kLearned, "learned"},
              {PositionEncoding::kNone, "none"});
NB_ENUM_NAMES(QkNormPosition, {QkNormPosition::kBeforeRotation, "before_rotation"},
              {QkNormPosition::kAfterRotation, "after_rotation"});
NB_ENUM_NAMES(ValueTableLayout, {ValueTableLayout::kSeparate, "separate"}, {ValueTableLayout::kJoined, "joined"});
NB_ENUM_NAMES(AttentionImplementation, {AttentionImplementation::kTiled, "tiled"},
              {AttentionImplementation::kDense, "dense"});
NB_ENUM_NAMES(KeyBlockOrder, {KeyBlockOrder::kAscending, "ascending"}, {KeyBlockOrder::kNearestFirst, "nearest_first"});
NB_ENUM_NAMES(AttentionProducts, {AttentionProducts::kWarp, "warp"}, {AttentionProducts::kWarpgroup, "warpgroup"});
NB_ENUM_NAMES(NewtonSchulzForm, {NewtonSchulzForm::kGrouped, "grouped"}, {NewtonSchulzForm::kTerms, "terms"});
NB_ENUM_NAMES(NewtonSchulzNorm, {NewtonSchulzNorm::kRounded, "rounded"}, {NewtonSchulzNorm::kExact, "exact"});
NB_ENUM_NAMES(ScaleApplication, {ScaleApplication::kRate, "rate"}, {ScaleApplication::kUpdate, "update"});
NB_ENUM_NAMES(ShapeSource, {ShapeSource::kBlock, "block"}, {ShapeSource::kStored, "stored"});
NB_ENUM_NAMES(CautiousCondition, {CautiousCondition::kPositive, "positive"},
              {CautiousCondition::kNotNegative, "not_negative"});
NB_ENUM_NAMES(ResidualScaling, {ResidualScaling::kNone, "none"}, {ResidualScaling::kBlock, "block"},
              {ResidualScaling::kSublayer, "sublayer"});
NB_ENUM_NAMES(EmbeddingInjection, {EmbeddingInjection::kBlockStart, "block_start"},
              {EmbeddingInjection::kAfterAttention, "after_attention"}, {EmbeddingInjection::kGenerated, "generated"});
NB_ENUM_NAMES(KeyOffsetCopy, {KeyOffsetCopy::kShifted, "shifted"}, {KeyOffsetCopy::kInPlace, "in_place"});
NB_ENUM_NAMES(CutTarget, {CutTarget::kNextDocument, "next_document"}, {CutTarget::kOwnDocument, "own_document"});
NB_ENUM_NAMES(LaneInjection, {LaneInjection::kAttentionOutput, "attention_output"}, {LaneInjection::kLane0, "lane_0"});
NB_ENUM_NAMES(SkipTap, {SkipTap::kOutput, "output"}, {SkipTap::kAfterAttention, "after_attention"});
NB_ENUM_NAMES(GradientClipType, {GradientClipType::kNone, "none"}, {GradientClipType::kGlobalNorm, "global_norm"},
              {GradientClipType::kPerParameter, "per_parameter"});
NB_ENUM_NAMES(LearningRateShape, {LearningRateShape::kTrapezoid, "trapezoid"}, {LearningRateShape::kCosine, "cosine"});
NB_ENUM_NAMES(LossReduction, {LossReduction::kMean, "mean"}, {LossReduction::kSum, "sum"});
NB_ENUM_NAMES(MomentumHold, {MomentumHold::kEnd, "end"}, {MomentumHold::kLastWarmupStep, "last_warmup_step"});
NB_ENUM_NAMES(BatchAlignment, {BatchAlignment::kNone, "none"}, {BatchAlignment::kBos, "bos"},
              {BatchAlignment::kDocuments, "documents"});
NB_ENUM_NAMES(BatchOrder, {BatchOrder::kSequential, "sequential"}, {BatchOrder::kShuffled, "shuffled"});
NB_ENUM_NAMES(ShardStorage, {ShardStorage::kMapped, "mapped"}, {ShardStorage::kRead, "read"},
              {ShardStorage::kPinned, "pinned"});
NB_ENUM_NAMES(FetchTime, {FetchTime::kStepStart, "step_start"}, {FetchTime::kAfterForward, "after_forward"},
              {FetchTime::kAfterBackward, "after_backward"});
NB_ENUM_NAMES(TokenDtype, {TokenDtype::kInt64, "int64"}, {TokenDtype::kInt32, "int32"});
NB_ENUM_NAMES(GradientSync, {GradientSync::kLastMicroStep, "last_micro_step"},
              {GradientSync::kEveryMicroStep, "every_micro_step"});
NB_ENUM_NAMES(ReductionSchedule, {ReductionSchedule::kOverlappedBuckets, "overlapped_buckets"},
              {ReductionSchedule::kBuckets, "buckets"}, {ReductionSchedule::kPerParameter, "per_parameter"});
NB_ENUM_NAMES(BucketStorage, {BucketStorage::kViews, "views"}, {BucketStorage::kCopies, "copies"});
NB_ENUM_NAMES(MuonSharding, {MuonSharding::kReplicated, "replicated"}, {MuonSharding::kAllReduce, "all_reduce"},
              {MuonSharding::kAllGather, "all_gather"});
NB_ENUM_NAMES(MuonGroups, {MuonGroups::kElements, "elements"}, {MuonGroups::kShape, "shape"});
NB_ENUM_NAMES(GradientSums, {GradientSums::kAllProcesses, "all_processes"}, {GradientSums::kOwners, "owners"});
NB_ENUM_NAMES(GatherTiming, {GatherTiming::kAsynchronous, "asynchronous"}, {GatherTiming::kBlocking, "blocking"});
NB_ENUM_NAMES(GatherBuffer, {GatherBuffer::kContiguous, "contiguous"}, {GatherBuffer::kSeparate, "separate"});
NB_ENUM_NAMES(MatrixInit, {MatrixInit::kZero, "zero"}, {MatrixInit::kLinear, "linear"});
NB_ENUM_NAMES(TableInit, {TableInit::kByHead, "by_head"}, {TableInit::kNormal, "normal"},
              {TableInit::kLinear, "linear"});
NB_ENUM_NAMES(InitScheme, {InitScheme::kRecords, "records"}, {InitScheme::kGpt2, "gpt2"});
NB_ENUM_NAMES(ActivationPrecision, {ActivationPrecision::kFloat32, "float32"},
              {ActivationPrecision::kAutocast, "autocast"}, {ActivationPrecision::kBfloat16, "bfloat16"});
NB_ENUM_NAMES(ValidationPrecision, {ValidationPrecision::kTraining, "training"},
              {ValidationPrecision::kFloat32, "float32"});
NB_ENUM_NAMES(StoredPrecision, {StoredPrecision::kFloat32, "float32"}, {StoredPrecision::kBfloat16, "bfloat16"});
NB_ENUM_NAMES(ParameterStorage, {ParameterStorage::kFloat32, "float32"},
              {ParameterStorage::kBfloat16Stochastic, "bfloat16_stochastic"},
              {ParameterStorage::kBfloat16Truncated, "bfloat16_truncated"});
NB_ENUM_NAMES(LossPrecision, {LossPrecision::kFloat32, "float32"}, {LossPrecision::kBfloat16, "bfloat16"},
              {LossPrecision::kBfloat16Sigmoid, "bfloat16_sigmoid"});
NB_ENUM_NAMES(RotaryPrecision, {RotaryPrecision::kFloat32, "float32"},
              {RotaryPrecision::kBfloat16Tables, "bfloat16_tables"},
              {RotaryPrecision::kBfloat16Frequencies, "bfloat16_frequencies"});
NB_ENUM_NAMES(ProductPrecision, {ProductPrecision::kActivations, "activations"}, {ProductPrecision::kFp8, "fp8"});

}  // namespace nanobench::core
