#include "reports/document.h"

namespace nanobench::reports {

TableCell text_cell(const std::string& text) {
  return {.text = text, .detail = "", .value = text};
}

TableCell count_cell(std::int64_t count) {
  return {.text = std::to_string(count), .detail = "", .value = count};
}

TableCell missing_cell() {
  return {.text = "-", .detail = "", .value = nullptr};
}

}  // namespace nanobench::reports
