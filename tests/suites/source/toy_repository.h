/// A repository with a small trainer, for tests of changes of a source.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/base/input_file.h"
#include "core/process/command.h"

namespace nanobench::suites {

class ToyRepository : public ::testing::Test {
 protected:
  /// History of train.py: "muon = 1" was added by the commit that muon_ names, "skip = 1" by the branch `skip`.
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "data");
    git({"init", "-q", "-b", "main"});
    write(".gitignore", "data/\n");
    write("data/tokens.bin", "0123");
    write("train.py", text({"lr = 1", "momentum = 1"}));
    commit("first");
    git({"checkout", "-q", "-b", "skip"});
    write("train.py", text({"lr = 1", "momentum = 1", "skip = 1"}));
    commit("skip");
    git({"checkout", "-q", "main"});
    write("train.py", text({"muon = 1", "lr = 1", "momentum = 1"}));
    muon_ = commit("muon");
    write("model.py", "layers = 2\n");
    commit("model");
  }

  /// The lines with room between them, so that changes of different lines do not meet.
  static std::string text(const std::vector<std::string>& lines) {
    std::string all = "# begin\n";
    for (const std::string& line : lines) {
      all += line + "\n";
      for (int i = 0; i < 4; ++i) all += "# " + line.substr(0, 2) + "\n";
    }
    return all;
  }
  void write(const std::string& name, const std::string& text) const {
    core::write_file_atomically(folder_ / name, text);
  }
  std::string read(const std::filesystem::path& file) const {
    return core::read_input(file, {std::uint64_t{1} << 20, "a test"});
  }
  std::string git(std::vector<std::string> words) const {
    words.insert(words.begin(), {"git", "-C", folder_.string(), "-c", "user.name=a", "-c", "user.email=a@b"});
    const core::CommandResult result = core::run_command(words);
    EXPECT_TRUE(result.is_success()) << result.err;
    return result.out;
  }
  std::string commit(const std::string& message) const {
    git({"add", "-A"});
    git({"commit", "-q", "-m", message});
    return git({"rev-parse", "HEAD"}).substr(0, 40);
  }
  /// A patch of train.py, beside the repository.
  std::filesystem::path patch(const std::string& name, const std::string& old_text, const std::string& new_text) const {
    const std::string now = read(folder_ / "train.py");
    std::string changed = now;
    changed.replace(changed.find(old_text), old_text.size(), new_text);
    write("train.py", changed);
    core::write_file_atomically(place_.path() / name, git({"diff"}));
    write("train.py", now);
    return place_.path() / name;
  }
  /// Every file of the user's, with its contents.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file() && entry.path().filename() != "index")
        all[entry.path().string()] = read(entry.path());
    }
    return all;
  }

  core::TemporaryFolder place_{"toy"};
  const std::filesystem::path folder_ = place_.path() / "toy";
  const std::filesystem::path cache_ = place_.path() / "cache";
  std::string muon_;
};

}  // namespace nanobench::suites
