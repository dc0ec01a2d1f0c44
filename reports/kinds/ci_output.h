/// A gate's answer in the forms that CI systems read. Pure, thread-safe. Each form escapes all text itself.
#pragma once

#include <cstddef>
#include <string>

#include "reports/gate/gate.h"

namespace nanobench::reports {

/// JUnit XML: one test suite, one test case a check. Regressions are failures, missing evidence is an error,
/// inconclusive ones are skipped with their reason; what does not gate is always passed, with its verdict as output.
std::string gate_junit(const GateResult& result);

/// GitHub workflow commands, one a line: errors for regressions and missing evidence, warnings for inconclusive checks,
/// the worst first, `most` at most (GitHub shows ten of a step). Empty for a gate that passes.
std::string gate_annotations(const GateResult& result, std::size_t most = 10);

/// Stands first in the Markdown, so that a bot finds its own comment again.
inline constexpr const char* kGateCommentMarker = "<!-- nanobench-gate -->";

/// The report as Markdown with the marker, at most `most_bytes` long (GitHub takes 1 MiB as a job summary): what would
/// not fit is cut after a whole line, and that is said.
std::string gate_markdown(const GateResult& result, std::size_t most_bytes = (1 << 20) - 1024);

}  // namespace nanobench::reports
