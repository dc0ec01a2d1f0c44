/// Stored runs in the forms that other programs read. Streams run by run: memory does not grow with their number. Not
/// thread-safe, as the Store.
///
/// Text is hostile: CSV fields are quoted and disarmed (results/output_file.h), JSON is escaped and broken UTF-8 in it
/// becomes U+FFFD, names of folders keep letters, digits, dot, minus and underscore only. A value that is not finite is
/// an empty field, null, or NaN where the format has it (TensorBoard).
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/store.h"

namespace nanobench::results {

/// TensorBoard's event files: TFRecords (a length and two masked CRC-32C) that hold protocol buffers of the kinds Event
/// and Summary. Only scalars.

/// CRC-32C (Castagnoli), not masked.
std::uint32_t crc32c(std::string_view bytes);

/// One record with its frame.
std::string event_record(std::string_view message);

/// The first event of a file. Times are seconds since 1970.
std::string version_event(double wall_time);

using Scalar = std::pair<std::string, float>;  ///< tag, value
/// The scalars of one step.
std::string scalar_event(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars);

/// Version of the JSON form; grows when a key changes its meaning or goes away.
inline constexpr int kExportSchemaVersion = 1;

/// One row a run; lines end with CR LF.
void export_csv(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out);

/// One row a sample: run, suite, cell, seed, metric, step, value. Metrics sorted, steps ascending.
void export_samples_csv(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out);

/// Everything that is stored of the runs: columns, configuration, environment, facts, messages, samples.
void export_json(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out);

/// What Google Benchmark's compare.py reads: a benchmark a cell, a repetition a run. `real_time` is the median of the
/// timed steps in ms, `iterations` their number; `cpu_time` is the CPU time of the whole process over its steps, or
/// `real_time` where that was not recorded. Completed runs with timed steps only; returns how many were left out.
std::int64_t export_google_benchmark(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out);

/// Event files for TensorBoard, a folder a run in `folder`, which must exist. Values are rounded to 32 bits. The time
/// of day of a step is the run's start plus the training clock.
void export_tensorboard(const Store& store, const std::vector<std::int64_t>& runs, const std::filesystem::path& folder);

}  // namespace nanobench::results
