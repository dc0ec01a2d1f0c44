/// Bytes as they come, cut into lines. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nanobench::suites {

class LineCutter {
 public:
  /// Longer ones are passed over: no line of a trainer.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  /// Calls `take(line)` for each line that is whole now, without its newline.
  template <class Take>
  void add(std::string_view bytes, Take take) {
    rest_ += bytes;
    std::size_t start = 0;
    for (std::size_t end; (end = rest_.find('\n', start)) != std::string::npos; start = end + 1) {
      if (!is_skipping_) take(std::string_view(rest_).substr(start, end - start));
      is_skipping_ = false;
    }
    rest_.erase(0, start);
    if (is_skipping_ || rest_.size() > kLongestLine) {
      is_skipping_ = true;
      rest_.clear();
    }
  }

  /// What came after the last newline; the next bytes begin a line of their own.
  std::string take_rest() {
    is_skipping_ = false;
    std::string rest = std::move(rest_);
    rest_.clear();
    return rest;
  }

 private:
  std::string rest_;
  bool is_skipping_ = false;  ///< until the end of a line that is too long
};

}  // namespace nanobench::suites
