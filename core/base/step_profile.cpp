#include "core/base/step_profile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

double ms_of(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

/// Billions per second; null if no time passed.
Json rate(double flops, double ms) {
  return ms > 0 ? Json(flops / ms * 1e-6) : Json(nullptr);
}

Json share(double ms, double of_ms) {
  return of_ms > 0 ? Json(ms / of_ms) : Json(nullptr);
}

class ProfileSummary {
 public:
  void add(const Span& span) {
    const double total_ms = ms_of(span.end_ns - span.start_ns), self_ms = ms_of(span.self_ns);
    switch (span.kind) {
      case SpanKind::kStep:
        ++profile_.steps;
        profile_.steps_ms += total_ms;
        profile_.other_ms += self_ms;
        break;
      case SpanKind::kPhase: {
        PhaseProfile& phase = phases_[span.phase];
        phase.total_ms += total_ms;
        phase.self_ms += self_ms;
        first_start_.try_emplace(span.phase, span.start_ns);
        break;
      }
      case SpanKind::kOp: {
        OpProfile& op = ops_[{span.phase, span.name}];
        ++op.calls;
        op.total_ms += total_ms;
        op.self_ms += self_ms;
        op.flops += span.flops;
        op.bytes += span.bytes;
        break;
      }
    }
  }

  StepProfile finish() {
    for (auto& [key, op] : ops_) {
      std::tie(op.phase, op.op) = key;
      if (const auto phase = phases_.find(op.phase); phase != phases_.end()) {
        phase->second.flops += op.flops;
        phase->second.bytes += op.bytes;
      }
      profile_.ops.push_back(op);
    }
    std::stable_sort(profile_.ops.begin(), profile_.ops.end(),
                     [](const OpProfile& a, const OpProfile& b) { return a.self_ms > b.self_ms; });
    for (auto& [name, phase] : phases_) {
      phase.phase = name;
      profile_.phases.push_back(phase);
    }
    std::sort(profile_.phases.begin(), profile_.phases.end(), [&](const PhaseProfile& a, const PhaseProfile& b) {
      return first_start_.at(a.phase) < first_start_.at(b.phase);
    });
    return std::move(profile_);
  }

 private:
  StepProfile profile_;
  std::map<std::string, PhaseProfile> phases_;
  std::map<std::string, std::int64_t> first_start_;
  std::map<std::pair<std::string, std::string>, OpProfile> ops_;
};

constexpr double kMaxMs = 1e15;
constexpr double kMaxWork = 1e300;

OpProfile read_op(const Json& value, const std::string& source) {
  JsonObject object(value, source, "/ops");
  return {.phase = object.string("phase"),
          .op = object.string("op"),
          .calls = object.integer("calls", 0, std::numeric_limits<std::int64_t>::max()),
          .total_ms = object.number("total_ms", 0, kMaxMs),
          .self_ms = object.number("self_ms", -kMaxMs, kMaxMs),
          .flops = object.number("flops", 0, kMaxWork),
          .bytes = object.number("bytes", 0, kMaxWork)};
}

PhaseProfile read_phase(const Json& value, const std::string& source) {
  JsonObject object(value, source, "/phases");
  return {.phase = object.string("phase"),
          .total_ms = object.number("total_ms", 0, kMaxMs),
          .self_ms = object.number("self_ms", -kMaxMs, kMaxMs),
          .flops = object.number("flops", 0, kMaxWork),
          .bytes = object.number("bytes", 0, kMaxWork)};
}

/// One event, with the separator from the previous one.
class EventList {
 public:
  void add(const Json& event) {
    text_ += text_.empty() ? "\n" : ",\n";
    text_ += safe_dump(event);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr int kTracePid = 1;

Json name_event(const char* what, int thread, std::string_view name) {
  return {{"ph", "M"}, {"name", what}, {"pid", kTracePid}, {"tid", thread}, {"args", {{"name", name}}}};
}

const char* category(SpanKind kind) {
  return kind == SpanKind::kStep ? "step" : kind == SpanKind::kPhase ? "phase" : "op";
}

}  // namespace

double StepProfile::unaccounted_ms() const {
  double ms = other_ms;
  for (const PhaseProfile& phase : phases) ms += phase.self_ms;
  return ms;
}

double StepProfile::flops() const {
  double sum = 0;
  for (const OpProfile& op : ops) sum += op.flops;
  return sum;
}

StepProfile summarize_spans(std::span<const Span> spans, int thread) {
  ProfileSummary summary;
  for (const Span& span : spans) {
    if (span.thread == thread) summary.add(span);
  }
  return summary.finish();
}

Json to_json(const StepProfile& profile) {
  Json json = {{"schema_version", kProfileSchemaVersion},
               {"steps", profile.steps},
               {"steps_ms", profile.steps_ms},
               {"other_ms", profile.other_ms},
               {"unaccounted_ms", profile.unaccounted_ms()},
               {"flops", profile.flops()},
               {"gflops", rate(profile.flops(), profile.steps_ms)},
               {"sgemm_gflops", profile.sgemm_gflops ? Json(*profile.sgemm_gflops) : Json(nullptr)},
               {"phases", Json::array()},
               {"ops", Json::array()}};
  if (profile.gpu_gflops) json["gpu_gflops"] = *profile.gpu_gflops;
  for (const PhaseProfile& phase : profile.phases) {
    json["phases"].push_back({{"phase", phase.phase},
                              {"total_ms", phase.total_ms},
                              {"self_ms", phase.self_ms},
                              {"share", share(phase.total_ms, profile.steps_ms)},
                              {"flops", phase.flops},
                              {"gflops", rate(phase.flops, phase.total_ms)},
                              {"bytes", phase.bytes}});
  }
  for (const OpProfile& op : profile.ops) {
    json["ops"].push_back({{"phase", op.phase},
                           {"op", op.op},
                           {"calls", op.calls},
                           {"total_ms", op.total_ms},
                           {"self_ms", op.self_ms},
                           {"share", share(op.self_ms, profile.steps_ms)},
                           {"flops", op.flops},
                           {"gflops", rate(op.flops, op.self_ms)},
                           {"bytes", op.bytes}});
  }
  return json;
}

StepProfile read_step_profile(const Json& value, const std::string& source) {
  try {
    JsonObject object(value, source);
    object.integer("schema_version", kProfileSchemaVersion, kProfileSchemaVersion);
    StepProfile profile{.steps = object.integer("steps", 0, std::numeric_limits<std::int64_t>::max()),
                        .steps_ms = object.number("steps_ms", 0, kMaxMs),
                        .other_ms = object.number("other_ms", -kMaxMs, kMaxMs),
                        .phases = {},
                        .ops = {},
                        .sgemm_gflops = std::nullopt,
                        .gpu_gflops = std::nullopt};
    if (!object.at("sgemm_gflops").is_null()) profile.sgemm_gflops = object.number("sgemm_gflops", 0, kMaxWork);
    if (object.has("gpu_gflops")) profile.gpu_gflops = object.number("gpu_gflops", 0, kMaxWork);
    for (const Json& phase : object.at("phases")) profile.phases.push_back(read_phase(phase, source));
    for (const Json& op : object.at("ops")) profile.ops.push_back(read_op(op, source));
    return profile;
  } catch (const Error& error) {
    rethrow_internal(error);
    throw Error(ErrorCode::kDataLoss, std::string("not the profile of this program: ") + error.what());
  }
}

std::string chrome_trace(std::span<const Span> spans, std::span<const std::string> threads, std::string_view process,
                         const StepProfile& summary) {
  constexpr double kMicrosecond = 1e-3;  // of a nanosecond
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const Span& span : spans) begin = std::min(begin, span.start_ns);
  EventList events;
  events.add(name_event("process_name", 0, process));
  for (std::size_t i = 0; i < threads.size(); ++i)
    events.add(name_event("thread_name", static_cast<int>(i), threads[i]));
  for (const Span& span : spans) {
    Json event = {{"ph", "X"},
                  {"name", span.name},
                  {"cat", category(span.kind)},
                  {"pid", kTracePid},
                  {"tid", span.thread},
                  {"ts", static_cast<double>(span.start_ns - begin) * kMicrosecond},
                  {"dur", static_cast<double>(span.end_ns - span.start_ns) * kMicrosecond}};
    if (span.flops != 0 || span.bytes != 0) event["args"] = {{"flops", span.flops}, {"bytes", span.bytes}};
    events.add(event);
  }
  return "{\"displayTimeUnit\":\"ms\",\"nanobench\":" + to_json(summary).dump() + ",\"traceEvents\":[" + events.text() +
         "\n]}\n";
}

}  // namespace nanobench::core
