#include "core/base/op_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace nanobench::core {
namespace {

/// Installs a profiler for the length of a test.
class OpTimerTest : public testing::Test {
 protected:
  OpTimerTest() { set_profiler(&profiler_); }
  ~OpTimerTest() override { set_profiler(nullptr); }

  Span span(const std::string& name) const {
    for (const Span& candidate : profiler_.spans()) {
      if (candidate.name == name) return candidate;
    }
    ADD_FAILURE() << "no span " << name;
    return {};
  }

  Profiler profiler_;
};

TEST(OpTimer, WithoutAProfilerNothingHappens) {
  const OpTimer timer("op", 1, 2);
  EXPECT_EQ(OpTimer::innermost(), nullptr);
  EXPECT_EQ(timer.flops(), 0);
}

TEST_F(OpTimerTest, KeepsNameWorkAndTimes) {
  { const OpTimer timer("op", 12, 34); }
  const Span op = span("op");
  EXPECT_EQ(op.kind, SpanKind::kOp);
  EXPECT_EQ(op.flops, 12);
  EXPECT_EQ(op.bytes, 34);
  EXPECT_GT(op.start_ns, 0);
  EXPECT_GE(op.end_ns, op.start_ns);
  EXPECT_EQ(op.self_ns, op.end_ns - op.start_ns);
}

TEST_F(OpTimerTest, SelfTimeIsWithoutInnerScopes) {
  {
    const OpTimer outer("outer");
    {
      const OpTimer inner("inner");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    { const OpTimer second("second"); }
  }
  const auto total = [](const Span& s) { return s.end_ns - s.start_ns; };
  EXPECT_GE(total(span("inner")), 5'000'000);
  EXPECT_EQ(span("outer").self_ns, total(span("outer")) - total(span("inner")) - total(span("second")));
}

TEST_F(OpTimerTest, SpansBelongToThePhaseTheyBeganIn) {
  {
    const OpTimer step(SpanKind::kStep, "step");
    {
      const OpTimer phase(SpanKind::kPhase, "forward");
      const OpTimer op("a");
    }
    const OpTimer op("b");
  }
  EXPECT_STREQ(span("a").phase, "forward");
  EXPECT_STREQ(span("forward").phase, "forward");
  EXPECT_STREQ(span("b").phase, "");
  EXPECT_STREQ(span("step").phase, "");
}

TEST_F(OpTimerTest, WorkMayBeAddedToTheInnermostScope) {
  {
    const OpTimer outer("outer");
    OpTimer inner("inner", 1, 2);
    EXPECT_EQ(OpTimer::innermost(), &inner);
    OpTimer::innermost()->add_work(10, 20);
  }
  EXPECT_EQ(OpTimer::innermost(), nullptr);
  EXPECT_EQ(span("inner").flops, 11);
  EXPECT_EQ(span("inner").bytes, 22);
  EXPECT_EQ(span("outer").flops, 0);
}

TEST_F(OpTimerTest, ThreadsNestByThemselvesAndShareThePhase) {
  {
    const OpTimer phase(SpanKind::kPhase, "optimizer");
    std::thread([] { const OpTimer op("elsewhere"); }).join();
  }
  const Span elsewhere = span("elsewhere");
  EXPECT_STREQ(elsewhere.phase, "optimizer");
  EXPECT_EQ(span("optimizer").self_ns, span("optimizer").end_ns - span("optimizer").start_ns);
  const std::vector<std::string> threads = profiler_.threads();
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_NE(elsewhere.thread, span("optimizer").thread);
  EXPECT_EQ(threads[static_cast<std::size_t>(span("optimizer").thread)], "main");
}

TEST_F(OpTimerTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4, kSpans = 1000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      for (int span = 0; span < kSpans; ++span) const OpTimer timer("op", 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  double flops = 0;
  for (const Span& span : profiler_.spans()) flops += span.flops;
  EXPECT_EQ(flops, kThreads * kSpans);
}

TEST(OpTimerInstallation, AScopeEndsWhereItBegan) {
  Profiler profiler;
  set_profiler(&profiler);
  {
    const OpTimer timer("op");
    set_profiler(nullptr);
    const OpTimer unseen("unseen");
  }
  ASSERT_EQ(profiler.spans().size(), 1u);
  EXPECT_STREQ(profiler.spans()[0].name, "op");
}

/// Ten milliseconds from mark to mark.
class TenMsMarks final : public DeviceMarks {
 public:
  int mark() noexcept override { return next_++; }
  double elapsed_ms(int from, int to) override { return 10.0 * (to - from); }
  void reset() override { next_ = 0; }

 private:
  int next_ = 0;
};

TEST(OpTimer, OnADeviceScopesAreTimesOfItsStreamFromWhicheverThread) {
  Profiler profiler(std::make_unique<TenMsMarks>());
  for (int step = 0; step < 2; ++step) {
    set_profiler(&profiler);
    {
      const OpTimer whole(SpanKind::kStep, "step");               // marks 0 and 7
      const OpTimer phase(SpanKind::kPhase, "backward");          // 1 and 6
      std::thread([] { const OpTimer op("attention"); }).join();  // 2 and 3
      std::thread([] { const OpTimer op("linear"); }).join();     // 4 and 5
    }
    set_profiler(nullptr);
    profiler.settle();
  }
  const std::vector<Span> spans = profiler.spans();
  ASSERT_EQ(spans.size(), 8U);
  std::map<std::string, Span> last;
  for (const Span& span : spans) {
    last[span.name] = span;
    EXPECT_EQ(span.thread, profiler.this_thread()) << span.name;
  }
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  EXPECT_DOUBLE_EQ(ms(last["step"].end_ns - last["step"].start_ns), 70);
  EXPECT_DOUBLE_EQ(ms(last["step"].self_ns), 20);
  EXPECT_DOUBLE_EQ(ms(last["backward"].self_ns), 30);
  EXPECT_DOUBLE_EQ(ms(last["attention"].self_ns), 10);
  EXPECT_DOUBLE_EQ(ms(last["linear"].start_ns - last["step"].start_ns), 40);
  EXPECT_STREQ(last["linear"].phase, "backward");
}

}  // namespace
}  // namespace nanobench::core
