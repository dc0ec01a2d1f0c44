/// The wording of what an audit finds. Pure, thread-safe. Texts hold names from logs: escape them when printing.
#pragma once

#include <string>
#include <vector>

#include "reports/audit/audit.h"

namespace nanobench::reports {

/// "is byte for byte run3.txt: counted once (run4.txt)": one sentence; of many files the first few are named.
std::string text_of(const AuditFlag& flag);
std::vector<std::string> texts_of(const std::vector<AuditFlag>& flags);

/// The order in which findings are told: that of their sentences.
bool reads_before(const AuditFlag& a, const AuditFlag& b);

/// Why a group has its verdict: "p < 0.01".
std::string verdict_text(const AuditGroup& group, const AuditOptions& options);

/// Empty for kNone.
std::string text_of(ArmReason reason);

/// "is byte for byte run3.txt". REQUIRES a kind of repeat: kSameBytes, kSameNumbers or kSameCurve.
std::string repeat_text(const AuditFlag& repeat);

}  // namespace nanobench::reports
