#include "reports/kinds/ci_output.h"

#include <algorithm>
#include <vector>

#include "core/base/text.h"
#include "reports/gate/gate_text.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

/// Workflow commands end at a newline, and properties at a comma or colon.
std::string command_text(const std::string& text, bool is_property) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '%') {
      out += "%25";
    } else if (is_property && c == ':') {
      out += "%3A";
    } else if (is_property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

std::string junit_case(const GateResult& result, const GateCheck& check) {
  std::string out = "    <testcase classname=\"" + escape_markup(result.candidate.suite + "." + check.cell) +
                    "\" name=\"" + escape_markup(check.name) + "\"";
  const std::string word = enum_name(check.verdict), message = " message=\"" + escape_markup(reason_text(check)) + "\"";
  if (!check.gates)
    return out + "><system-out>" + escape_markup(word + ": " + reason_text(check) + " (does not gate)") +
           "</system-out></testcase>\n";
  switch (check.verdict) {
    case Verdict::kRegressed: return out + "><failure type=\"regressed\"" + message + "/></testcase>\n";
    case Verdict::kMissing: return out + "><error type=\"missing\"" + message + "/></testcase>\n";
    case Verdict::kInconclusive: return out + "><skipped" + message + "/></testcase>\n";
    default:
      return out + "><system-out>" + escape_markup(word + ": " + reason_text(check)) + "</system-out></testcase>\n";
  }
}

/// The larger, the worse; 0: nothing to say.
int severity(const GateCheck& check) {
  if (!check.gates) return 0;
  switch (check.verdict) {
    case Verdict::kRegressed: return 3;
    case Verdict::kMissing: return 2;
    case Verdict::kInconclusive: return 1;
    default: return 0;
  }
}

}  // namespace

std::string gate_junit(const GateResult& result) {
  const auto count = [&](Verdict verdict) {
    return std::to_string(std::count_if(result.checks.begin(), result.checks.end(), [&](const GateCheck& check) {
      return check.gates && check.verdict == verdict;
    }));
  };
  std::string cases;
  for (const GateCheck& check : result.checks) cases += junit_case(result, check);
  std::string problems;
  for (const GateProblem& problem : result.problems) problems += escape_markup(text_of(problem)) + "\n";
  const std::string errors = std::to_string(std::stoi(count(Verdict::kMissing)) + (result.checks.empty() ? 1 : 0));
  if (result.checks.empty())
    cases =
        "    <testcase classname=\"gate\" name=\"evidence\"><error type=\"missing\" message=\"there is nothing to "
        "compare\"/></testcase>\n";
  const std::string counts = " tests=\"" + std::to_string(std::max<std::size_t>(1, result.checks.size())) +
                             "\" failures=\"" + count(Verdict::kRegressed) + "\" errors=\"" + errors + "\" skipped=\"" +
                             count(Verdict::kInconclusive) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts + ">\n  <testsuite name=\"" +
         escape_markup("nanobench gate " + result.candidate.suite) + "\"" + counts + ">\n" + cases +
         (problems.empty() ? "" : "    <system-err>" + problems + "</system-err>\n") +
         "  </testsuite>\n</testsuites>\n";
}

std::string more_checks_text(std::size_t left_out) {
  return "; and " + std::to_string(left_out) + " more in the job summary";
}

std::string gate_annotations(const GateResult& result, std::size_t max) {
  std::vector<const GateCheck*> checks;
  for (const GateCheck& check : result.checks) {
    if (severity(check) > 0) checks.push_back(&check);
  }
  const auto is_worse = [](const GateCheck* a, const GateCheck* b) {
    if (severity(*a) != severity(*b)) return severity(*a) > severity(*b);
    return a->tests.worse.value_or(1.0) < b->tests.worse.value_or(1.0);
  };
  std::stable_sort(checks.begin(), checks.end(), is_worse);
  std::string out;
  for (std::size_t i = 0; i < std::min(max, checks.size()); ++i) {
    const GateCheck& check = *checks[i];
    const bool is_last_of_many = i + 1 == max && checks.size() > max;
    const std::string more = is_last_of_many ? more_checks_text(checks.size() - max) : "";
    out += std::string(severity(check) > 1 ? "::error" : "::warning") +
           " title=" + command_text("nanobench gate: " + check.name + " " + enum_name(check.verdict), true) +
           "::" + command_text(check.cell + ": " + reason_text(check) + more, false) + "\n";
  }
  return out;
}

std::string gate_markdown(const GateResult& result, std::size_t max_bytes) {
  std::string text = std::string(kGateCommentMarker) + "\n" + render_markdown(gate_report(result));
  if (text.size() <= max_bytes) return text;
  const std::string note = kGateCutNote;
  const std::size_t end = text.rfind('\n', max_bytes - note.size());
  return text.substr(0, end) + note;
}

}  // namespace nanobench::reports
