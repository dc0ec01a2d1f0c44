// Exports runs as event files for TensorBoard.
#include <cstdio>
#include <fstream>
#include <map>

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/export.h"
#include "results/metric.h"
#include "results/provenance.h"

namespace nanobench::results {
namespace {

constexpr std::size_t kMaxNameBytes = 100;

/// Converts text to a valid folder name on any system.
std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    name += is_plain ? c : '_';
  }
  if (name.size() > kMaxNameBytes) name.resize(kMaxNameBytes);
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

std::string folder_name(const RunRecord& run) {
  return plain_name(run.cell) + "-seed" + std::to_string(run.seed) + "-run" + std::to_string(run.id);
}

std::map<std::int64_t, std::vector<Scalar>> scalars_by_step(const Store& store, std::int64_t run_id) {
  std::map<std::int64_t, std::vector<Scalar>> steps;
  for (const std::string& metric : store.metrics(run_id)) {
    const std::string tag = core::as_utf8(metric);  // protocol buffers accept nothing else
    for (const Sample& sample : store.samples(run_id, metric))
      steps[sample.step].emplace_back(tag, static_cast<float>(sample.value));
  }
  return steps;
}

void write_run(const Store& store, const RunRecord& run, std::ostream& out) {
  const double start = seconds_since_epoch(run.started_at).value_or(0.0);
  out << event_record(version_event(start));
  std::map<std::int64_t, double> clock_ms;
  for (const char* metric : {kValClockMs, kClockMs}) {
    for (const Sample& sample : store.samples(run.id, metric)) clock_ms[sample.step] = sample.value;
  }
  double seconds = 0;
  for (const auto& [step, scalars] : scalars_by_step(store, run.id)) {
    if (const auto known = clock_ms.find(step); known != clock_ms.end()) seconds = known->second / 1000;
    out << event_record(scalar_event(start + seconds, step, scalars));
  }
}

}  // namespace

void export_tensorboard(const Store& store, const std::vector<std::int64_t>& runs,
                        const std::filesystem::path& folder) {
  for (const std::int64_t id : runs) {
    const RunRecord run = store.run(id);
    const std::filesystem::path place = folder / folder_name(run);
    std::error_code error;
    std::filesystem::create_directory(place, error);
    char name[64];
    std::snprintf(name, sizeof name, "events.out.tfevents.%010.0f.nanobench",
                  seconds_since_epoch(run.started_at).value_or(0.0));
    std::ofstream out(place / name, std::ios::binary);
    write_run(store, run, out);
    out.close();
    if (error || !out) {
      throw core::Error(core::ErrorCode::kIo, "cannot write " + (place / name).string() +
                                                  "; choose a folder that can be written and has space");
    }
  }
}

}  // namespace nanobench::results
