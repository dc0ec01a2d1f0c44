/// The steps that READMEs name as the result of a submission. A table of results has a column "Steps to ..." and links
/// each row to its log: a submission may count at an earlier step than its last one. READMEs are untrusted: any bytes
/// give an answer. Pure, except for find_named_steps, which reads files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "results/import/log_files.h"

namespace nanobench::results {

struct NamedStep {
  std::int64_t step = 0;
  std::filesystem::path linked;  ///< the file or folder of the row, absolute
  std::filesystem::path readme;  ///< where the row is
};

/// The rows of all tables of a README, in its order. Rows without a number or a link to a file are left out.
///   readme   its absolute path, which links are relative to
std::vector<NamedStep> named_steps_in(std::string_view markdown, const std::filesystem::path& readme);

/// Those of every README.md beside the logs and in up to four folders above them; each README is read once. READMEs
/// that are absent or cannot be read name nothing.
std::vector<NamedStep> find_named_steps(const std::vector<LogFile>& files);

/// What the rows say about logs of one configuration in one record's folder: those that link one of the logs, else
/// those that link into the folder. nullopt if there is none, or if they name several steps.
///   is_other   whether a linked file is a log of another configuration; such a row says nothing about these logs
std::optional<NamedStep> named_step_of(const std::vector<LogFile>& logs, const std::vector<NamedStep>& steps,
                                       const std::function<bool(const std::filesystem::path&)>& is_other);

}  // namespace nanobench::results
