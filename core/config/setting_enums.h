/// The values of settings that are names (train_config.h). Their JSON names are in train_config_names.h.
#pragma once

namespace nanobench::core {

enum class NormType { kRms, kLayer };
enum class PositionEncoding { kRotary, kLearned, kNone };
enum class Activation { kReluSquared, kGelu, kGeluTanh };
enum class QkNormPosition { kBeforeRotation, kAfterRotation };
enum class ValueTableLayout { kSeparate, kJoined };
enum class ValueSource { kNone, kFirstLayer, kTokens };
enum class ValueMix { kNone, kLerp, kPair, kAdd, kGate };
enum class RopePairing { kHalf, kAdjacent };
enum class HeadPairing { kHalves, kNeighbours };
enum class LateSkipGate { kNone, kX0, kGenerated };
enum class BigramStart { kReserved, kOwn };
enum class TargetNormalizer { kExisting, kAll };
enum class QkvRows { kSeparate, kStacked };
enum class MergedQkvo { kOff, kBatched, kWide, kRows };
enum class AttentionWeightLambdas { kNone, kQkv, kQkvAndOutput };
enum class KeyOffsetDims { kUpperHalf, kQuarters };
enum class SkipGate { kLinear, kSigmoid };
enum class RopeWindowScaling { kNone, kYarn };
enum class SoftcapForm { kTanh, kSigmoid };
enum class WindowGranularity { kToken, kTokenBlockClipped, kBlock, kTokenInclusive };
enum class WindowScheduleType { kConstant, kNone, kLinear, kList, kStages };
enum class WindowRounding { kFloor, kCeil };
enum class AttentionImplementation { kTiled, kDense };
enum class KeyBlockOrder { kAscending, kNearestFirst };
enum class AttentionProducts { kWarp, kWarpgroup };
enum class OptimizerType { kAdam, kMuon };
enum class NewtonSchulzForm { kGrouped, kTerms };
enum class NewtonSchulzNorm { kRounded, kExact };
enum class ScaleApplication { kRate, kUpdate };
enum class ShapeSource { kBlock, kStored };
enum class MeanAxis { kShape, kRow };
enum class CautiousCondition { kPositive, kNotNegative };
enum class ResidualScaling { kNone, kBlock, kSublayer };
enum class EmbeddingInjection { kBlockStart, kAfterAttention, kGenerated };
enum class KeyOffsetCopy { kShifted, kInPlace };
enum class LaneInjection { kAttentionOutput, kLane0 };
enum class SkipTap { kOutput, kAfterAttention };
enum class GradientClipType { kNone, kGlobalNorm, kPerParameter };
enum class LearningRateShape { kTrapezoid, kCosine };
enum class MomentumHold { kEnd, kLastWarmupStep };
enum class MomentumForm { kLerp, kAccumulate };
enum class Orthogonalizer { kNewtonSchulz, kSvd, kPolarExpress };
enum class NewtonSchulzRounding { kEachOperation, kFused };
enum class EpsPosition { kCorrected, kUncorrected };
enum class NewtonSchulzDtype { kCompute, kBfloat16 };
enum class UpdateScale { kNone, kSqrtRowsOverColumns, kSqrtLargestSide };
enum class LoaderPosition { kPerRank, kGlobal };  ///< whose position in the token stream (core/data/data_loader.h)
enum class BatchOrder { kSequential, kShuffled };
enum class BatchAlignment { kNone, kBos, kDocuments };  ///< where training sequences begin (core/data/data_loader.h)
enum class CutTarget { kNextDocument, kOwnDocument };
enum class ShardStorage { kMapped, kRead, kPinned };
enum class FetchTime { kStepStart, kAfterForward, kAfterBackward };
enum class TokenDtype { kInt64, kInt32 };
enum class GradientReduction { kMean, kMeanOverRanks };
enum class LossReduction { kMean, kSum };
enum class GradientSync { kLastMicroStep, kEveryMicroStep };
enum class ReductionSchedule { kOverlappedBuckets, kBuckets, kPerParameter };
enum class BucketStorage { kViews, kCopies };
enum class MuonSharding { kReplicated, kAllReduce, kAllGather };
enum class MuonGroups { kElements, kShape };
enum class GradientSums { kAllProcesses, kOwners };
enum class GatherTiming { kAsynchronous, kBlocking };
enum class GatherBuffer { kContiguous, kSeparate };
enum class MatrixInit { kZero, kLinear };
enum class TableInit { kByHead, kNormal, kLinear };
enum class InitScheme { kRecords, kGpt2 };
enum class ActivationPrecision { kFloat32, kAutocast, kBfloat16 };
enum class ValidationPrecision { kTraining, kFloat32 };
enum class StoredPrecision { kFloat32, kBfloat16 };
enum class LossPrecision { kFloat32, kBfloat16, kBfloat16Sigmoid };
enum class ParameterStorage { kFloat32, kBfloat16Stochastic, kBfloat16Truncated };
enum class RotaryPrecision { kFloat32, kBfloat16Tables, kBfloat16Frequencies };
enum class ProductPrecision { kActivations, kFp8 };

}  // namespace nanobench::core
