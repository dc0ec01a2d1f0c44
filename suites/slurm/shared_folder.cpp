#include "suites/slurm/shared_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "results/output_file.h"
#include "results/provenance.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

constexpr std::size_t kMaxWords = 400;
constexpr std::size_t kMaxLockBytes = 65536;

[[noreturn]] void fail_to_write(const fs::path& file, int error) {
  throw Error(ErrorCode::kIo, "cannot write " + file.string() + ": " + std::strerror(error) +
                                  "; name a folder that the nodes share with --scratch");
}

std::string holder_of(const fs::path& file) {
  const std::string line = core::first_line_of(file, kMaxWords);
  return line.empty() ? "another process" : line;
}

void copy_bytes(const fs::path& from, const fs::path& to) {
  core::InputFile in(from);
  const core::Fd out(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!out.is_open()) fail_to_write(to, errno);
  std::array<char, 65536> bytes{};
  while (const std::size_t count = in.read(bytes.data(), bytes.size())) {
    if (!core::write_all(out.get(), {bytes.data(), count})) fail_to_write(to, errno);
  }
  if (fsync(out.get()) != 0) fail_to_write(to, errno);
}

/// Gives `temporary` the name `to` unless it is taken. On file systems without links, the later of two simultaneous
/// writers wins, which is just as good.
bool take_name(const fs::path& temporary, const fs::path& to) {
  if (link(temporary.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  if (is_there(to)) return false;
  if (rename(temporary.c_str(), to.c_str()) != 0) fail_to_write(to, errno);
  return true;
}

}  // namespace

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.insert(at->path().filename().string());
  return names;
}

void make_shared_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_to_write(folder, error.value());
  if (eaccess(folder.c_str(), W_OK | X_OK) != 0) fail_to_write(folder, errno);
}

void write_whole(const fs::path& file, const std::string& text) {
  results::OutputFile out(file);
  out.stream() << text;
  out.commit();
}

bool publish(const fs::path& from, const fs::path& to) {
  const results::Owner us = results::this_process();
  const fs::path temporary =
      to.parent_path() / ("." + to.filename().string() + "." + us.host + "." + std::to_string(us.pid));
  std::error_code ignored;
  try {
    copy_bytes(from, temporary);
    const bool is_first = take_name(temporary, to);
    fs::remove(temporary, ignored);
    return is_first;
  } catch (...) {
    fs::remove(temporary, ignored);
    throw;
  }
}

std::string last_words(const fs::path& file) {
  core::InputFile in;
  if (in.open(file)) return "";
  std::string text(std::min<std::uint64_t>(in.size(), kMaxWords), ' ');
  if (!in.read_at(in.size() - text.size(), text.data(), text.size())) return "";  // cut since
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = c == '\n' ? '\n' : ' ';
  }
  text = std::string(trimmed(text));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

SubmitterLock::SubmitterLock(const fs::path& file) : file_(file) {
  for (;;) {
    fd_ = core::Fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (fd_.get() < 0) fail_to_write(file, errno);
    if (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) {
        throw Error(ErrorCode::kConflict,
                    holder_of(file) +
                        " runs this suite through Slurm already; wait for it, or stop it with Ctrl-C "
                        "(its job goes on, and this command then collects it)");
      }
      throw Error(ErrorCode::kUnavailable, "the file system of " + file.string() + " has no locks (" +
                                               std::strerror(errno) + "); name another folder with --scratch");
    }
    if (core::is_same_file(fd_.get(), file)) break;
  }
  const results::Owner us = results::this_process();
  const core::Json facts = {{"host", us.host},
                            {"boot", us.boot_id},
                            {"namespace", us.pid_namespace},
                            {"pid", us.pid},
                            {"started", us.pid_started}};
  const std::string text = "process " + std::to_string(us.pid) + " on " + us.host + "\n" + facts.dump() + "\n";
  if (ftruncate(fd_.get(), 0) != 0 || pwrite(fd_.get(), text.data(), text.size(), 0) < 0) fail_to_write(file, errno);
}

std::optional<results::Owner> read_holder(const fs::path& file) {
  const std::string text = core::read_beginning(file, kMaxLockBytes).value_or("");
  const std::vector<std::string_view> lines = split_lines(text);  // one for people, then the facts
  if (lines.size() < 2) return std::nullopt;
  try {
    const core::Json value = core::parse_json(lines[1], file.string());
    core::JsonObject object(value, file.string());
    results::Owner owner;
    owner.host = object.string("host");
    owner.boot_id = object.string("boot");
    owner.pid_namespace = object.string("namespace");
    owner.pid = object.integer("pid", 1, std::numeric_limits<std::int64_t>::max());
    owner.pid_started = object.integer("started", 0, std::numeric_limits<std::int64_t>::max());
    return owner;
  } catch (const Error& error) {
    rethrow_internal(error);
    return std::nullopt;  // being written, or from another version
  }
}

void SubmitterLock::remove() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  fd_.reset();
}

}  // namespace nanobench::suites
