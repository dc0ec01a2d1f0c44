/// What can be wrong, as an enumeration: one reason for each kind of refusal that a caller or a test tells apart. A
/// name says what is wrong and not where: the subject of the Refusal does. The numbers are nowhere stored.
#pragma once

#include "core/base/refusal.h"

namespace nanobench::core {

enum class Reason : int {
  kNone,  ///< an Error without a reason

  // A text or a value.
  kMalformed,    ///< not of its format
  kUnfit,        ///< cannot be read as the type that is asked for
  kWrongType,    ///< of another type than expected
  kOutOfRange,   ///< a number below or above what is possible
  kTooLarge,     ///< more bytes, or a larger number, than can be taken
  kTooShort,     ///< less than is needed
  kTooMany,      ///< more, or fewer, members than can be taken
  kTooDeep,      ///< lists and objects in each other
  kWrongLength,  ///< not as many members or bytes as needed
  kNoMultiple,   ///< not a multiple of what it is divided by
  kEmpty,        ///< nothing where something is needed
  kBadValue,     ///< any other value that is not possible there

  // Names and keys.
  kUnknownKey,
  kMissingKey,
  kUnknownName,    ///< none of the known names
  kAmbiguous,      ///< fits several
  kRepeated,       ///< there already
  kSameValue,      ///< equal to another that it must differ from
  kUnknownValue,   ///< a feature has no such value
  kOtherName,      ///< not the one that it has to have
  kBadName,        ///< not possible as a name
  kUnused,         ///< changes nothing
  kNotApplicable,  ///< cannot be set
  kNoEffect,       ///< changes nothing at this scale
  kReadAsCode,     ///< a shell would
  kNeedsShell,     ///< a command has what only a shell acts on
  kOpenQuote,      ///< a quote is not closed
  kHoldsNul,       ///< which ends a text for a program
  kOutside,        ///< of the folder that it must lie in
  kNoSentence,     ///< does not end with a full stop

  // Values that depend on each other.
  kUnmet,     ///< needs another value to be otherwise
  kExcluded,  ///< excludes another value
  kInactive,  ///< has no meaning beside the other values
  kOneSided,  ///< holds for one of two sides only
  kNoLimit,   ///< an interval holds everything
  kReversed,  ///< an interval ends before it begins

  // Changes of a trainer's source.
  kNoRepository,
  kNoCommit,
  kNowhere,  ///< the text to replace
  kClash,    ///< two changes meet, or one does not fit its source
  kNoLongerCompiles,
  kProgramFails,  ///< one that was started to find something out

  // Designs and plans.
  kTooFewValues,  ///< of a feature
  kTooFewFeatures,
  kTooManyFeatures,
  kTooManyCells,
  kTooFewRuns,
  kTooManyRuns,
  kNoPowerOfTwo,
  kNoFraction,       ///< with what is asked for
  kTooFewProcesses,  ///< or ranks, or threads, for a setting to act
  kTooFewMicroSteps,
  kNeedsGpu,
  kLeftOut,  ///< what was named is not measured

  // Files.
  kMissingFile,
  kNotAFile,         ///< a folder, a pipe, a device
  kUnreadable,       ///< the operating system refuses
  kReadOnly,         ///< cannot be written
  kSystem,           ///< the operating system refuses something else
  kSizeLimit,        ///< of files, as set by `ulimit -f`
  kDiskFull,         ///< no space is left
  kNoMemory,         ///< the system has none left
  kForeignOwner,     ///< belongs to another user or program
  kForeignFiles,     ///< a folder holds something of others
  kOpenToOthers,     ///< other users may read or write it
  kNoSafePlace,      ///< for a secret
  kTruncated,        ///< ends before it should
  kIncomplete,       ///< lacks a part
  kUnusedBytes,      ///< has more than belongs to it
  kOverlap,          ///< parts lie in each other
  kMissingMark,      ///< does not begin as it should
  kOtherFormat,      ///< is something else
  kOtherVersion,     ///< of the format or of the protocol
  kNewerVersion,     ///< of the format
  kOlderVersion,     ///< of the format
  kOtherContents,    ///< not those that are described
  kOtherSizes,       ///< not those that are described
  kOtherVocabulary,  ///< not the one that is described
  kChanged,          ///< while it was read, or after it was written
  kDamaged,
  kDangling,  ///< refers to what is not there
  kEndless,   ///< takes far more work than it should
  kMoved,     ///< removed or replaced while in use
  kInUse,     ///< by another process
  kSameFile,  ///< as another that it must differ from

  // Data for training.
  kDataEnded,
  kTooFewDocuments,

  // Processes of a run, and its checkpoints.
  kSilent,       ///< nothing came
  kOtherSecret,  ///< somebody does not know the secret of the run
  kOtherRun,     ///< a checkpoint is of another one

  // Rows of a store.
  kNoRun,
  kNoPlan,
  kNoLine,
  kEnded,  ///< a run that has its result
};

}  // namespace nanobench::core
