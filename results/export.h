/// Exports stored runs in formats that other programs read. Streams run by run, so memory does not grow with their
/// number. Not thread-safe, like the Store.
///
/// Text is treated as hostile. CSV fields are quoted and made safe for spreadsheets (results/output_file.h). JSON is
/// escaped, and its invalid UTF-8 becomes U+FFFD. Folder names keep only letters, digits, dot, hyphen and underscore. A
/// value that is not finite becomes an empty field, null, or NaN if the format has it (TensorBoard).
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

/// TensorBoard's event files: TFRecords (a length and two masked CRC-32C) that hold Event and Summary protocol buffers.
/// Scalars only.

/// CRC-32C (Castagnoli), not masked.
std::uint32_t crc32c(std::string_view bytes);

/// One framed record.
std::string event_record(std::string_view message);

/// The first event of a file. Times are seconds since 1970.
std::string version_event(double wall_time);

using Scalar = std::pair<std::string, float>;  ///< tag, value
/// The scalars of one step.
std::string scalar_event(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars);

/// Version of the JSON format; incremented when a key changes its meaning or is removed.
inline constexpr int kExportSchemaVersion = 1;

/// One row per run; lines end with CR LF.
void export_csv(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out);

/// One row per sample: run, suite, cell, seed, metric, step, value. Metrics sorted, steps ascending.
void export_samples_csv(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out);

/// Everything that is stored of the runs: columns, configuration, environment, facts, messages, samples.
void export_json(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out);

/// The format of Google Benchmark's compare.py: one benchmark per cell, one repetition per run. `real_time` is the
/// training clock over the timed steps in ms, `iterations` their number; `median_step_ms` is their median. `cpu_time`
/// is the CPU time of the whole process over its steps, or `real_time` if that was not recorded. Exports only completed
/// runs with timed steps; returns the number of runs left out.
std::int64_t export_google_benchmark(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out);

/// Event files for TensorBoard, one folder per run in `folder`, which must exist. Values are rounded to 32 bits. A
/// step's timestamp is the run's start plus the training clock.
void export_tensorboard(const Store& store, const std::vector<std::int64_t>& runs, const std::filesystem::path& folder);

}  // namespace nanobench::results
