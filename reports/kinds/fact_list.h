/// Facts of a document, collected one by one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/document/document.h"

namespace nanobench::reports {

class FactList {
 public:
  void add(const std::string& key, const std::string& title, TableCell cell) {
    facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  }
  void add(const std::string& key, const std::string& title, const std::string& text) {
    add(key, title, text_cell(text));
  }
  std::vector<Fact> facts;
};

}  // namespace nanobench::reports
