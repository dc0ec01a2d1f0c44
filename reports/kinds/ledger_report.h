/// The ledger of claims as a document, and as a section of other reports. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/claims/ledger.h"
#include "reports/document/document.h"

namespace nanobench::reports {

/// `scale`: of the measurements.
Document ledger_report(const std::vector<LedgerEntry>& entries, const std::string& scale);

/// "Of 176 claims 56 are supported here, 46 are contradicted and 1 is inconclusive."
std::string ledger_headline(const std::vector<LedgerEntry>& entries);

/// As part of another report: one section with a table, before the last section.
void add_ledger_section(Document& document, const std::vector<LedgerEntry>& entries, const std::string& scale);

}  // namespace nanobench::reports
