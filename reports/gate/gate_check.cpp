#include "reports/gate/gate_check.h"

#include <cmath>

#include "core/base/text.h"

namespace nanobench::reports {

std::string change_text(const GateCheck& check, double change) {
  return check.is_ratio ? (change < 0 ? "" : "+") + format_percent(change, 2) : format_signed(change, 5);
}

double to_scale(double change, bool is_ratio) {
  return is_ratio ? std::log1p(change) : change;
}

double from_scale(double value, bool is_ratio) {
  return is_ratio ? std::expm1(value) : value;
}

}  // namespace nanobench::reports
