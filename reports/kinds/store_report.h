/// Pages about a database as a whole: what a merge took over, what a check found, what compacting gave back.
#pragma once

#include <filesystem>
#include <vector>

#include "reports/document/document.h"
#include "results/check.h"
#include "results/merge.h"
#include "results/store.h"

namespace nanobench::reports {

struct MergedFile {
  std::filesystem::path file;
  results::MergeResult result;
};

Document merge_report(const std::filesystem::path& into, const std::vector<MergedFile>& merged);
Document check_report(const std::filesystem::path& file, const results::StoreCheck& check);
Document vacuum_report(const std::filesystem::path& file, const results::VacuumResult& result);

}  // namespace nanobench::reports
