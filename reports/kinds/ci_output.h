/// A gate's answer in the formats that CI systems read. Pure, thread-safe. Each format escapes all text itself.
#pragma once

#include <cstddef>
#include <string>

#include "reports/gate/gate.h"

namespace nanobench::reports {

/// JUnit XML: one test suite, one test case per check. A regression is a failure, missing evidence an error, and an
/// inconclusive check is skipped with its reason. A check that does not gate always passes, with its verdict as output.
std::string gate_junit(const GateResult& result);

/// GitHub workflow commands, one per line, worst first: errors for regressions and missing evidence, warnings for
/// inconclusive checks. At most `max` (GitHub shows ten per step). Empty if the gate passes.
std::string gate_annotations(const GateResult& result, std::size_t max = 10);

/// "; and 10 more in the job summary": ends the last annotation where there are more.
std::string more_checks_text(std::size_t left_out);

/// The first line of the Markdown, which lets a bot find its own comment again.
inline constexpr const char* kGateCommentMarker = "<!-- nanobench-gate -->";

/// The end of a Markdown that was cut.
inline constexpr const char* kGateCutNote = "\n\n(The rest does not fit here; `nanobench gate --json` prints it.)\n";

/// The report as Markdown with the marker, at most `max_bytes` long (GitHub takes 1 MiB as a job summary). A longer
/// report is cut after a whole line, and a note reports it.
std::string gate_markdown(const GateResult& result, std::size_t max_bytes = (1 << 20) - 1024);

}  // namespace nanobench::reports
