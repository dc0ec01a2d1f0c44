/// What all visitors of TrainConfig's fields share (train_config_fields.h).
#pragma once

#include <cstdint>

namespace nanobench::core {

/// A field's JSON name, what it does in one sentence, and its unit ("" for none).
struct FieldLabel {
  const char* name;
  const char* meaning;
  const char* unit = "";
};

/// State of every visitor: whether the fields that follow apply.
class FieldVisitor {
 public:
  template <class Enum>
  void active_when(const char* /*sibling*/, Enum value, Enum wanted) {
    is_active_ = value == wanted;
  }
  void active_always() { is_active_ = true; }

 protected:
  bool is_active() const { return is_active_; }

 private:
  bool is_active_ = true;
};

inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;

}  // namespace nanobench::core
