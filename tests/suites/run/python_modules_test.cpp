// What real Python processes tell of the files that they load.
#include "suites/run/python_modules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/process/command.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;

class PythonModulesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!core::run_command({"python3", "-c", ""}).is_success()) GTEST_SKIP() << "needs Python";
    write("trainer/train.py", "import helper, local\nprint('value', helper.value)\n");
    write("trainer/local.py", "");
    write("lib/helper.py", "value = 1\n");
    modules_.emplace(external());
  }

  /// Settings of a trainer with two sources.
  core::Json external() const {
    return {{"folder", trainer().string()}, {"files", {{"train.py", "a digest"}, {"local.py", "another"}}}};
  }
  fs::path root() const { return fs::canonical(temporary_.path()); }
  fs::path trainer() const { return root() / "trainer"; }
  fs::path write(const std::string& name, const std::string& text) const {
    const fs::path file = root() / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  /// What it printed, runs of a trainer in its folder with further folders in PYTHONPATH.
  std::string run(const std::vector<std::string>& command, const std::vector<fs::path>& path = {}) const {
    std::string python_path = modules_->folder();
    for (const fs::path& folder : path) python_path += ":" + folder.string();
    std::vector<std::string> words = {"env", "-C", trainer().string(), "PYTHONPATH=" + python_path};
    words.insert(words.end(), command.begin(), command.end());
    const core::CommandResult result = core::run_command(words);
    return result.out + result.err;
  }

  /// Without what the machine's own Python installation loads whenever it starts.
  results::Facts facts() {
    results::Facts facts = modules_->facts();
    std::erase_if(facts, [&](const auto& fact) {
      const std::string name = fact.first.substr(std::string(results::kLoadedFact).size());
      return name.starts_with('/') && !name.starts_with(root().string());
    });
    return facts;
  }
  static std::string name_of(const fs::path& file) { return results::kLoadedFact + file.string(); }
  results::Facts helper_alone() const { return {{name_of(root() / "lib/helper.py"), core::digest_of("value = 1\n")}}; }

  core::TemporaryFolder temporary_{"loaded-test"};
  std::optional<PythonModules> modules_;
};

TEST_F(PythonModulesTest, AModuleFromElsewhereIsToldWithItsContent) {
  EXPECT_EQ(run({"python3", "train.py"}, {root() / "lib"}), "value 1\n");
  EXPECT_EQ(facts(), helper_alone()) << "not those of the trainer's folder";
}

/// Files of the trainer's folder that no rule takes for sources: in a hidden folder, and compiled.
TEST_F(PythonModulesTest, AModuleOfItsFolderThatIsNoSourceByItsNameIsTold) {
  write("trainer/train.py", "import hidden, compiled, local\nprint('value', hidden.value + compiled.value)\n");
  write("trainer/.libs/hidden.py", "value = 1\n");
  const fs::path source = write("compiled.py", "value = 2\n"), compiled = trainer() / "compiled.pyc";
  run({"python3", "-c",
       "import py_compile; py_compile.compile('" + source.string() + "', '" + compiled.string() + "')"});
  EXPECT_EQ(run({"python3", "train.py"}, {trainer() / ".libs"}), "value 3\n");
  const results::Facts told = facts();
  EXPECT_EQ(told.size(), 3U) << "also what it was compiled from";
  EXPECT_TRUE(told.contains(results::kLoadedFact + std::string(".libs/hidden.py")));
  EXPECT_TRUE(told.contains(results::kLoadedFact + std::string("compiled.pyc")));
}

/// A link that leads elsewhere the next time brings other code, while the files stay as they are.
TEST_F(PythonModulesTest, AModuleThatIsFoundThroughALinkIsToldByTheLinkToo) {
  write("trainer/v1/inner.py", "value = 1\n");
  write("trainer/train.py", "import helper\nfrom current import inner\nprint('value', helper.value + inner.value)\n");
  core::Json with_inner = external();
  with_inner["files"]["v1/inner.py"] = core::digest_of("value = 1\n");
  modules_.emplace(with_inner);
  fs::create_directory_symlink("v1", trainer() / "current");
  fs::create_directory_symlink("lib", root() / "stable");
  EXPECT_EQ(run({"python3", "train.py"}, {root() / "stable"}), "value 2\n");
  results::Facts expected = helper_alone();
  expected[name_of(root() / "stable/helper.py")] = core::digest_of("value = 1\n");
  expected[results::kLoadedFact + std::string("current/inner.py")] = core::digest_of("value = 1\n");
  EXPECT_EQ(facts(), expected);
}

TEST_F(PythonModulesTest, ALinkAboveTheTrainersFolderIsNone) {
  fs::create_directory_symlink(".", root() / "here");
  write("lib/helper.py", "value = 1\n");
  EXPECT_EQ(run({"python3", "train.py"}, {root() / "here/lib"}), "value 1\n");
  EXPECT_EQ(facts(), helper_alone());
}

TEST_F(PythonModulesTest, HoweverPythonIsStarted) {
  const std::vector<std::vector<std::string>> commands = {
      {"python3", "-m", "train"},
      {"sh", "-c", "exec python3 train.py"},
      {"python3", "-c", "import subprocess, sys; subprocess.run([sys.executable, 'train.py'])"},
      {"python3", "-c", "import os, train; os._exit(0)"},
      {"python3", "-c", "import os, signal, train; os.kill(os.getpid(), signal.SIGKILL)"}};
  for (const std::vector<std::string>& command : commands) {
    modules_.emplace(external());
    run(command, {root() / "lib"});
    EXPECT_EQ(facts(), helper_alone()) << command.back();
  }
}

TEST_F(PythonModulesTest, HoweverCodeIsLoaded) {
  const std::string helper = "../lib/helper.py";
  const std::vector<std::string> scripts = {"import importlib.util as u; s = u.spec_from_file_location('h', '" +
                                                helper + "'); m = u.module_from_spec(s); " + "s.loader.exec_module(m)",
                                            "import runpy; runpy.run_path('" + helper + "')",
                                            "exec(open('" + helper + "').read())",
                                            "exec(compile(open('" + helper + "').read(), 'other name', 'exec'))"};
  for (const std::string& script : scripts) {
    write("trainer/train.py", script + "\nimport os; os._exit(0)\n");
    modules_.emplace(external());
    run({"python3", "train.py"});
    EXPECT_EQ(facts(), helper_alone()) << script;
  }
  write("trainer/train.py", "import sys; sys.path.insert(0, '../lib.zip'); import helper\n");
  run({"python3", "-c", "import zipfile; zipfile.ZipFile('../lib.zip', 'w').write('../lib/helper.py', 'helper.py')"});
  modules_.emplace(external());
  run({"python3", "train.py"});
  EXPECT_TRUE(facts().contains(name_of(root() / "lib.zip")));
}

TEST_F(PythonModulesTest, SettingsThatAreReadAreToldAndOutputsAreNot) {
  const std::string text = "{}\n";
  for (const char* name : {"config.json", "sub/more.yaml", "conf", ".git/HEAD", "state.json", "weights.bin"})
    write("trainer/" + std::string(name), text);
  write("lib/elsewhere.json", text);
  write("trainer/train.py",
        "import os, subprocess, sys\n"
        "for name in ['config.json', 'conf', '.git/HEAD', 'state.json', 'weights.bin', '../lib/elsewhere.json']: "
        "open(name).read()\n"
        "os.chdir('sub')\n"
        "open(b'more.yaml').read()\n"
        "subprocess.run([sys.executable, '-c', 'open(\"../state.json\", \"a\").write(\"x\")'])\n"
        "open('log.txt', 'w').write('x')\n"
        "open('log.txt').read()\n"
        "os._exit(0)\n");
  run({"python3", "train.py"});
  const std::string prefix = results::kLoadedFact;
  EXPECT_EQ(facts(), (results::Facts{{prefix + "conf", core::digest_of(text)},
                                     {prefix + "config.json", core::digest_of(text)},
                                     {prefix + "sub/more.yaml", core::digest_of(text)}}));
  core::Json narrowed = external();
  narrowed["has_named_sources"] = true;
  modules_.emplace(narrowed);
  run({"python3", "train.py"});
  EXPECT_EQ(facts(), results::Facts()) << "the suite says what counts";
}

TEST_F(PythonModulesTest, TheScriptItselfMayBeElsewhere) {
  const fs::path script = write("elsewhere/main.py", "pass\n");
  run({"sh", "-c", "python3 ../elsewhere/main.py"});
  EXPECT_EQ(facts(), (results::Facts{{name_of(script), core::digest_of("pass\n")}}));
}

TEST_F(PythonModulesTest, TheUsersSitecustomizeIsImportedAsBefore) {
  const fs::path own = write("site/sitecustomize.py", "import sys\nsys.mark = 'mine'\n");
  write("trainer/ask.py",
        "import sys, sitecustomize\n"
        "print(sys.mark, sitecustomize.__file__, any('nanobench-python' in folder for folder in sys.path))\n");
  EXPECT_EQ(run({"python3", "ask.py"}, {root() / "site"}), "mine " + own.string() + " False\n");
  EXPECT_TRUE(facts().contains(name_of(own))) << "it is a module from elsewhere, too";
}

TEST_F(PythonModulesTest, AFailingSitecustomizeOfTheUserFailsAsBefore) {
  write("site/sitecustomize.py", "raise ValueError('mine')\n");
  const std::string said = run({"python3", "train.py"}, {root() / "site", root() / "lib"});
  EXPECT_NE(said.find("Error in sitecustomize"), std::string::npos) << said;
  EXPECT_NE(said.find("value 1"), std::string::npos) << said;
  EXPECT_TRUE(facts().contains(name_of(root() / "lib/helper.py")));
}

TEST_F(PythonModulesTest, ATrainerDoesNotNoticeThatNothingCanBeTold) {
  write("trainer/train.py",
        "import shutil, sys\nshutil.rmtree(sys.argv[1])\nimport helper\nprint('value', helper.value)\n");
  EXPECT_EQ(run({"python3", "train.py", modules_->folder()}, {root() / "lib"}), "value 1\n");
  EXPECT_TRUE(modules_->facts().empty());
}

TEST_F(PythonModulesTest, AnEditWhileTheTrainerRunsIsNotTakenForWhatItLoaded) {
  run({"python3", "train.py"}, {root() / "lib"});
  usleep(1'100'000);
  modules_->look_if_due();
  write("lib/helper.py", "value = 2\n");
  EXPECT_EQ(facts(), helper_alone());
}

TEST_F(PythonModulesTest, InTheSameRepositoryItsNameIsSeenFromTheTrainer) {
  write(".git/HEAD", "");
  modules_.emplace(external());
  run({"python3", "train.py"}, {root() / "lib"});
  EXPECT_EQ(facts(), (results::Facts{{"loaded/../lib/helper.py", core::digest_of("value = 1\n")}}));
}

TEST_F(PythonModulesTest, AnInstalledPackageIsOneFile) {
  const fs::path place = root() / "env/lib/site-packages";
  write("env/lib/site-packages/tool/__init__.py", "from . import part\n");
  write("env/lib/site-packages/tool/part.py", "");
  const fs::path list =
      write("env/lib/site-packages/tool-1.0.dist-info/RECORD", "tool/__init__.py,,\ntool/part.py,,\n");
  write("env/lib/site-packages/other-1.0.dist-info/RECORD", "other.py,,\n");
  write("env/lib/site-packages/old/__init__.py", "");
  write("env/lib/site-packages/old-2.0.egg-info/top_level.txt", "old\n");
  const fs::path about = write("env/lib/site-packages/old-2.0.egg-info/PKG-INFO", "Version: 2.0\n");
  const fs::path loose = write("env/lib/site-packages/older.py", "");
  write("trainer/train.py", "import tool, old, older\n");
  EXPECT_EQ(run({"python3", "train.py"}, {place}), "");
  results::Facts expected = {{name_of(list), core::digest_of("tool/__init__.py,,\ntool/part.py,,\n")},
                             {name_of(about), core::digest_of("Version: 2.0\n")},
                             {name_of(loose), core::digest_of("")}};
  EXPECT_EQ(facts(), expected);
}

TEST_F(PythonModulesTest, CodeThatAProgramMakesIsNoFile) {
  write("trainer/train.py", "import sys, types\nmade = types.ModuleType('made')\nmade.__file__ = '" +
                                (root() / "lib/helper.py").string() +
                                "'\nsys.modules['made'] = made\nsys.modules['odd'] = object()\n");
  EXPECT_EQ(run({"python3", "train.py"}), "");
  EXPECT_TRUE(facts().empty());
}

TEST_F(PythonModulesTest, AProgramThatIsNoPythonTellsNothing) {
  EXPECT_EQ(run({"sh", "-c", "echo here"}), "here\n");
  EXPECT_TRUE(modules_->facts().empty());
}

}  // namespace
}  // namespace nanobench::suites
