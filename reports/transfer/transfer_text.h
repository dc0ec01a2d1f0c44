/// The wording of why a published time does not count. Pure, thread-safe.
#pragma once

#include <string>

#include "reports/transfer/published_change.h"

namespace nanobench::reports {

/// "together with rotary, value_embeddings"
std::string text_of(const PublishedLimit& limit);

}  // namespace nanobench::reports
