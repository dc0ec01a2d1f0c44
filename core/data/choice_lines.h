/// Reads HellaSwag's public files: JSON lines with "ctx", "endings" and "label". Thread-safe: no shared state.
#pragma once

#include <filesystem>

#include "core/data/byte_pair.h"
#include "core/data/choice_task.h"

namespace nanobench::core {

/// Each line is an object with the text "ctx", the texts "endings" and the index "label" of the right one, as a number
/// or in quotes; other keys are passed over. The tokens of an ending are those of a space and its text, as in llm.c's
/// evaluation. Items are numbered by line. `most`: stops after so many items; 0: reads all. Throws Error{kNotFound},
/// and Error{kInvalidArgument} with file and line: no JSON, a key that is missing or of another form (the published
/// test set has no labels), an item that is too long.
ChoiceTask read_choice_lines(const std::filesystem::path& file, BytePairEncoder& encoder, std::size_t most = 0);

}  // namespace nanobench::core
