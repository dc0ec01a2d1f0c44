#include "reports/transfer/transfer_text.h"

#include <vector>

#include "core/base/text.h"

namespace nanobench::reports {

std::string text_of(const PublishedLimit& limit) {
  constexpr std::size_t kMaxNamed = 3;
  switch (limit.kind) {
    case PublishedLimit::Kind::kOtherScript: return "logs of another script";
    case PublishedLimit::Kind::kOtherBase: return "measured in " + limit.base;
    case PublishedLimit::Kind::kOtherChanges: break;
  }
  std::vector<std::string> others = limit.others;
  if (limit.has_other_settings) others.emplace_back("settings without a feature");
  return "together with " + listed_first(others, kMaxNamed);
}

}  // namespace nanobench::reports
