#include "suites/run/engine_process.h"

#include <gtest/gtest.h>

#include <csignal>

namespace nanobench::suites {
namespace {

using core::RunOutcome;

RunEnd finished() {
  RunEnd end;
  end.finished = core::FinishedEvent{};
  return end;
}

RunEnd stopped(StopReason reason) {
  RunEnd end;
  end.stop = reason;
  end.stop_message = "the reason";
  return end;
}

TEST(Outcome, CompletedNeedsTheEventAndTheExitCode) {
  EXPECT_EQ(classify(finished()).outcome, RunOutcome::kCompleted);
  EXPECT_EQ(classify(finished()).message, "");
  EXPECT_EQ(classify(RunEnd{}).outcome, RunOutcome::kCrashed);
  RunEnd end = finished();
  end.exit.exit_code = 1;
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCrashed);
  end = finished();
  end.exit.signal = SIGSEGV;
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCrashed);
}

TEST(Outcome, ARunThatFinishedInSpiteOfAnInterruptIsCompleted) {
  RunEnd end = finished();
  end.stop = StopReason::kInterrupted;
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCompleted);
  EXPECT_EQ(classify(stopped(StopReason::kInterrupted)).outcome, RunOutcome::kInterrupted);
}

TEST(Outcome, LimitsAreTimeouts) {
  EXPECT_EQ(classify(stopped(StopReason::kTimeLimit)).outcome, RunOutcome::kTimedOut);
  EXPECT_EQ(classify(stopped(StopReason::kSilence)).outcome, RunOutcome::kTimedOut);
  EXPECT_EQ(classify(stopped(StopReason::kSilence)).message, "the reason");
}

TEST(Outcome, NotFiniteIsDivergedWhateverTheEngineSays) {
  RunEnd end = finished();
  end.not_finite = "step 3";
  EXPECT_EQ(classify(end).outcome, RunOutcome::kDiverged);
  end.failed = core::FailedEvent{RunOutcome::kInterrupted, "stopped"};
  EXPECT_EQ(classify(end).outcome, RunOutcome::kDiverged);
}

TEST(Outcome, AnEngineThatRefusesItsSpecificationDoesNotSupportTheRun) {
  RunEnd end;
  end.has_hello = false;
  end.exit.exit_code = 2;
  end.output_tail = "engine: run.json: /config/model/smear: unknown key\n";
  EXPECT_EQ(classify(end).outcome, RunOutcome::kUnsupported);
  EXPECT_TRUE(classify(end).message.ends_with("engine: run.json: /config/model/smear: unknown key"))
      << classify(end).message;
  end.has_hello = true;
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCrashed);
}

TEST(Outcome, TheEnginesOwnReasonCounts) {
  RunEnd end;
  end.exit.exit_code = 1;
  end.failed = core::FailedEvent{RunOutcome::kUnsupported, "no such path"};
  EXPECT_EQ(classify(end).outcome, RunOutcome::kUnsupported);
  EXPECT_EQ(classify(end).message, "no such path");
  end.failed = core::FailedEvent{RunOutcome::kCompleted, "odd"};
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCrashed);
}

/// How torchrun ends, after what its ranks have said.
std::string torchrun_failure(const std::string& of_ranks, const std::string& cause) {
  return of_ranks + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\ntrain_gpt.py FAILED\n" +
         "  traceback : " + cause + "\n====\n\n";
}

TEST(Outcome, TheErrorOfARankStandsBeforeTheEpilogueOfTorchrun) {
  RunEnd end;
  end.exit.exit_code = 1;
  end.output_tail =
      torchrun_failure("a\n[rank3]: torch.OutOfMemoryError: CUDA out of memory.\n", "To enable it see: x");
  EXPECT_EQ(classify(end).outcome, RunOutcome::kOutOfMemory);
  EXPECT_TRUE(classify(end).message.ends_with(": [rank3]: torch.OutOfMemoryError: CUDA out of memory."));
  end.output_tail = torchrun_failure("RuntimeError: no\nlast words\n", "To enable it see: x");
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCrashed);
  EXPECT_TRUE(classify(end).message.ends_with(": RuntimeError: no")) << classify(end).message;
  end.output_tail = torchrun_failure("", "Signal 9 (SIGKILL) received by PID 7");
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCrashed);
  EXPECT_TRUE(classify(end).message.ends_with("Signal 9 (SIGKILL) received by PID 7")) << classify(end).message;
  end.was_oom_killed = true;
  EXPECT_EQ(classify(end).outcome, RunOutcome::kOutOfMemory);
  end.output_tail = "first\n\xc3\xa9\xc3\xa9\n";
  EXPECT_TRUE(classify(end).message.ends_with(": \xc3\xa9\xc3\xa9")) << "letters of any language";
  end.output_tail = "RuntimeError: handled\nand more\n------\n";
  EXPECT_TRUE(classify(end).message.ends_with(": and more")) << "there is no epilogue";
}

TEST(Outcome, KilledForMemoryIsOutOfMemory) {
  RunEnd end;
  end.exit.signal = SIGKILL;
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCrashed);
  end.was_oom_killed = true;
  EXPECT_EQ(classify(end).outcome, RunOutcome::kOutOfMemory);
  end.exit.signal = SIGSEGV;
  EXPECT_EQ(classify(end).outcome, RunOutcome::kCrashed) << "that kill was another process's";
}

TEST(Outcome, SpeaksOfTheSignalAndTheLastLine) {
  RunEnd end;
  end.exit.signal = SIGSEGV;
  end.output_tail = "first\nlast words\n\n";
  const std::string message = classify(end).message;
  EXPECT_NE(message.find("SIGSEGV"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with(": last words")) << message;
}

}  // namespace
}  // namespace nanobench::suites
