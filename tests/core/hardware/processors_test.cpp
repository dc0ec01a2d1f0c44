#include "core/hardware/processors.h"

#include <gtest/gtest.h>

#include <set>

namespace nanobench::core {
namespace {

using Sets = std::vector<std::vector<int>>;

/// Two packages of two cores of two processors, numbered as Linux does: siblings far apart.
const std::vector<Processor> kMachine = {{0, 0, 0}, {1, 0, 1}, {2, 1, 0}, {3, 1, 1},
                                         {4, 0, 0}, {5, 0, 1}, {6, 1, 0}, {7, 1, 1}};

TEST(DisjointProcessors, OneOfACoreWhereThereAreCoresEnough) {
  EXPECT_EQ(disjoint_processors(kMachine, 4, 1), (Sets{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(disjoint_processors(kMachine, 2, 2), (Sets{{0, 1}, {2, 3}})) << "a set stays in its package";
  EXPECT_EQ(disjoint_processors(kMachine, 1, 3), (Sets{{0, 1, 2}}));
}

TEST(DisjointProcessors, ElseWholeCores) {
  EXPECT_EQ(disjoint_processors(kMachine, 2, 4), (Sets{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  EXPECT_EQ(disjoint_processors(kMachine, 8, 1).size(), 8U);
  EXPECT_EQ(disjoint_processors(kMachine, 3, 2), (Sets{{0, 4}, {1, 5}, {2, 6}}));
}

TEST(DisjointProcessors, FewerWhereTheyDoNotSuffice) {
  EXPECT_EQ(disjoint_processors(kMachine, 3, 4).size(), 2U);
  EXPECT_TRUE(disjoint_processors(kMachine, 1, 9).empty());
  EXPECT_TRUE(disjoint_processors({}, 1, 1).empty());
}

TEST(UsableProcessors, AreDistinctAndAtLeastThoseThatCount) {
  std::set<int> numbers;
  for (const Processor& one : usable_processors()) numbers.insert(one.number);
  EXPECT_EQ(numbers.size(), usable_processors().size());
  EXPECT_GE(static_cast<int>(numbers.size()), available_processors());
}

}  // namespace
}  // namespace nanobench::core
