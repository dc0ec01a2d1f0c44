#include "reports/stats/interval.h"

#include <cmath>
#include <sstream>

#include "core/base/error.h"

namespace nanobench::reports {
namespace {

template <class Value>
[[noreturn]] void refuse(const char* name, const char* expected, Value value) {
  std::ostringstream message;
  message << name << " must be " << expected << ", got " << value;
  throw core::Error(core::ErrorCode::kInvalidArgument, message.str());
}

}  // namespace

void refuse(const std::string& message) {
  throw core::Error(core::ErrorCode::kInvalidArgument, message);
}

void require_fraction(double value, const char* name) {
  if (!(value > 0.0 && value < 1.0)) refuse(name, "between 0 and 1, without the ends", value);
}

void require_finite(double value, const char* name) {
  if (!std::isfinite(value)) refuse(name, "a finite number", value);
}

void require_positive(double value, const char* name) {
  if (!std::isfinite(value) || value <= 0.0) refuse(name, "a finite number above 0", value);
}

void require_count(long count, long min, const char* name) {
  if (count < min) refuse(name, ("at least " + std::to_string(min)).c_str(), count);
}

}  // namespace nanobench::reports
