"""The Debian package: what is in it, what it depends on, and what it does when dpkg has put it into a folder, with an empty home.

NANOBENCH=build/release/bin/nanobench python3 tests/package/deb_test.py

Exit code 77, with the reason, where a tool is missing. Nothing is installed on the machine that runs it.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from unittest import mock

import workshop
from debian_depends import depends
from launch_test import fake_torch_wheel
from make_wheel_test import VERSION
from platform_tag import UnknownVersion
from workshop import SYSTEM_PYTHON, elf, make_deb, staging

TREE = "usr/lib/nanobench/nanobench"
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
TWO_RECORDS = {"name": "two", "design": "history", "records": ["record17", "record18"], "scale": "smoke", "seeds": [1]}
# A trainer that tells what it inherits.
TRAINER = """
import json, os, pathlib, sys

pathlib.Path("inherited.json").write_text(json.dumps([sys.path, dict(os.environ)]))
for step in range(4):
    print(f"step:{step}/3 val_loss:{4 - step} train_time:{10 * step}ms step_avg:10.00ms", flush=True)
"""


def command(*words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)


def checked(*words, **options):
    """What the command prints. Throws AssertionError with what it said."""
    done = command(*words, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words[0]}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def field(package, name):
    return checked("dpkg-deb", "--field", package, name).strip()


def minimum_versions(text):
    """Minimum version by package of a Depends field; empty without one."""
    return dict(re.fullmatch(r"(\S+)(?: \(>= (\S+)\))?", item).groups("") for item in text.split(", "))


class Depends(unittest.TestCase):
    def test_the_newest_symbol_of_each_library_decides(self):
        for symbols, libc, libgcc, libstdcxx in (
            ([], "2.28", "3.0", "7"),  # what LibTorch itself needs
            (["GLIBC_2.2.5", "GLIBC_2.17"], "2.28", "3.0", "7"),
            (["GLIBC_2.34", "GLIBC_2.9"], "2.34", "3.0", "7"),
            (["GLIBC_ABI_DT_RELR"], "2.36", "3.0", "7"),
            (["GLIBCXX_3.4.29", "GLIBCXX_3.4.9"], "2.28", "3.0", "11"),
            (["GLIBCXX_3.4.27"], "2.28", "3.0", "10.2"),
            (["GLIBCXX_3.4.30", "CXXABI_1.3.9"], "2.28", "3.0", "12"),
            (["GLIBCXX_3.4.22", "CXXABI_1.3.15"], "2.28", "3.0", "14"),
            (["CXXABI_FLOAT128", "libcudart.so.13"], "2.28", "3.0", "7"),
            (["GCC_3.0", "GCC_3.4"], "2.28", "3.4", "7"),
            (["GCC_4.2.0"], "2.28", "4.2", "7"),
            (["GCC_12.0.0", "GCC_3.4"], "2.28", "12", "7"),
        ):
            found = minimum_versions(", ".join(depends(symbols)))
            self.assertEqual(
                (found["libc6"], found["libgcc-s1"], found["libstdc++6"]), (libc, libgcc, libstdcxx), symbols
            )

    def test_what_no_known_release_has_is_refused(self):
        for symbol in ("GLIBCXX_3.4.99", "CXXABI_1.4", "GLIBC_PRIVATE", "GLIBC_3.0"):
            with self.assertRaises(UnknownVersion, msg=symbol):
                depends([symbol])


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = workshop.temporary_folder(cls)
        cls.package = workshop.package_of_the_build(workshop.DEB_MAKER)
        cls.root = cls.folder / "root"
        checked("dpkg-deb", "-x", cls.package, cls.root)
        cls.control = cls.folder / "control"
        checked("dpkg-deb", "-e", cls.package, cls.control)
        cls.binaries = staging.binaries_in(cls.root)

    def files(self):
        return {str(path.relative_to(self.root)): path for path in self.root.rglob("*") if path.is_file()}

    def test_it_is_the_only_file_and_has_the_name_of_its_fields(self):
        name = f"nanobench_{VERSION}_{checked('dpkg', '--print-architecture').strip()}.deb"
        self.assertEqual([path.name for path in self.package.parent.iterdir()], [name])
        fields = [field(self.package, key) for key in ("Package", "Version", "Architecture")]
        self.assertEqual("_".join(fields) + ".deb", name)
        for key in ("Maintainer", "Description", "Section", "Priority", "Installed-Size"):
            self.assertNotEqual(field(self.package, key), "", key)
        self.assertLess(self.package.stat().st_size, 40 << 20)

    def test_the_dependencies_are_what_the_programs_need(self):
        found = minimum_versions(field(self.package, "Depends"))
        self.assertEqual(set(found), {"libc6", "libgcc-s1", "libstdc++6", "python3", "python3-pip"})
        needed = {name for path in self.binaries for names in elf.needed_versions(path).values() for name in names}
        glibc = [int(match[1]) for name in needed if (match := re.match(r"GLIBC_2\.(\d+)", name))]
        self.assertEqual(found["libc6"], f"2.{max(glibc)}")

    def test_dpkg_shlibdeps_agrees(self):
        if shutil.which("dpkg-shlibdeps") is None:
            self.skipTest("there is no dpkg-shlibdeps; the Debian package dpkg-dev has it")
        (self.folder / "debian").mkdir()
        (self.folder / "debian/control").write_text("Source: x\n\nPackage: x\nArchitecture: any\n")
        words = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", f"-l{workshop.libtorch() / 'lib'}"]
        words += [f"-l{self.root / TREE / 'lib'}", *(f"-e{path}" for path in self.binaries)]
        shown = checked(*words, cwd=self.folder).strip().removeprefix("shlibs:Depends=")
        expected, found = minimum_versions(shown), minimum_versions(field(self.package, "Depends"))
        self.assertIn("libstdc++6", expected)
        for name, version in expected.items():
            if name == "libsqlite3-0":  # it comes along
                continue
            is_enough = command("dpkg", "--compare-versions", found[name], "ge", version).returncode == 0
            self.assertTrue(is_enough, f"{name}: {found[name]}, but dpkg-shlibdeps says {version}")
            self.assertEqual(found[name].split(".")[0], version.split(".")[0], name)

    def test_nothing_runs_when_it_is_installed_or_removed(self):
        self.assertEqual({path.name for path in self.control.iterdir()}, {"control", "md5sums"})

    def test_md5sums_are_those_of_all_files(self):
        lines = (self.control / "md5sums").read_text().splitlines()
        found = {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}
        expected = {name: hashlib.md5(path.read_bytes()).hexdigest() for name, path in self.files().items()}
        self.assertEqual(found, expected)

    def test_owner_modes_and_places(self):
        places = (
            "usr/bin",
            TREE,
            "usr/share/doc/nanobench",
            "usr/share/bash-completion",
            "usr/share/zsh",
            "usr/share/fish",
        )
        for line in checked("dpkg-deb", "-c", self.package).splitlines():
            mode, owner, _, _, _, name = line.split(maxsplit=5)
            name = name.removeprefix("./").rstrip("/")
            self.assertEqual(owner, "root/root", line)
            is_program = name.startswith("usr/bin/") or name in (
                f"{TREE}/bin/nanobench",
                f"{TREE}/engine/nanobench-train",
            )
            expected = "drwxr-xr-x" if mode[0] == "d" else "-rwxr-xr-x" if is_program else "-rw-r--r--"
            self.assertEqual(mode, expected, line)
            self.assertTrue(mode[0] == "d" or name.startswith(places), line)

    def test_programs_are_stripped_and_look_only_beside_themselves(self):
        paths = {str(path.relative_to(self.root)): set(elf.read_dynamic(path).run_paths) for path in self.binaries}
        self.assertEqual(paths.pop(f"{TREE}/engine/nanobench-train"), {"$ORIGIN/lib"})
        self.assertEqual(paths.pop(f"{TREE}/bin/nanobench"), {"$ORIGIN/../lib"})
        self.assertEqual([found for found in paths.values() if found], [])
        for path in self.binaries:
            self.assertNotIn(".symtab", checked("readelf", "-W", "-S", path), path)

    def test_it_has_the_same_content_as_the_wheel(self):
        wheel = self.folder / "wheel"
        shutil.unpack_archive(workshop.package_of_the_build(), wheel, "zip")
        for path in (wheel / "nanobench").rglob("*"):
            if path.is_file():
                name = f"{TREE}/{path.relative_to(wheel / 'nanobench')}"
                self.assertEqual(self.files()[name].read_bytes(), path.read_bytes(), name)
        ours = sum(name.startswith(TREE) for name in self.files())
        self.assertEqual(ours, sum(path.is_file() for path in (wheel / "nanobench").rglob("*")))

    def test_documents(self):
        documents = self.root / "usr/share/doc/nanobench"
        text = (documents / "copyright").read_text()
        self.assertTrue(text.startswith((workshop.ROOT / "LICENSE").read_text()))
        for path in staging.licences().values():
            self.assertIn(path.read_text(), text)
        changes = gzip.decompress((documents / "CHANGELOG.md.gz").read_bytes())
        self.assertEqual(changes, (workshop.ROOT / "CHANGELOG.md").read_bytes())

    def test_completions_are_those_that_the_program_prints(self):
        share = self.root / "usr/share"
        places = {"bash": "bash-completion/completions/nanobench", "zsh": "zsh/vendor-completions/_nanobench",
                  "fish": "fish/vendor_completions.d/nanobench.fish"}  # fmt: skip
        for shell, place in places.items():
            shown = checked(self.root / TREE / "bin/nanobench", "completion", shell)
            self.assertEqual((share / place).read_text(), shown, shell)
        loaded = checked("bash", "--norc", "-c", 'source "$0" && complete -p nanobench', share / places["bash"])
        self.assertIn("nanobench", loaded)

    def test_the_same_programs_give_the_same_bytes_whoever_makes_it(self):
        words = ["cpack", "-G", "DEB", "-B", self.folder / "by cpack"]
        checked(*words, cwd=workshop.BUILD, umask=0o077, env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C"})
        again = next((self.folder / "by cpack").glob("*.deb"))
        for part in ("control.tar.gz", "data.tar.xz"):  # cpack alone gives the archive's members the umask's modes
            self.assertEqual(self.member(again, part), self.member(self.package, part), part)

    @staticmethod
    def member(package, name):
        return subprocess.run(["ar", "p", package, name], capture_output=True, check=True).stdout


def large_package(_, folder):
    (folder / "large.deb").write_bytes(bytes(2 << 20))


class Refusals(unittest.TestCase):
    def refused(self, sentence, build=workshop.BUILD, **variables):
        out = workshop.temporary_folder(self) / "out"
        done = workshop.make(out, build, workshop.DEB_MAKER, **variables)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(list(out.iterdir()) if out.is_dir() else [], [])
        return done.stderr

    def test_a_folder_without_programs_or_without_cpacks_file(self):
        folder = workshop.temporary_folder(self)
        self.refused("has no bin/", folder)
        (folder / "bin").mkdir()
        self.refused("nanobench does not exist", folder)
        for name in staging.PROGRAMS:
            (folder / "bin" / name).symlink_to(workshop.BUILD / "bin" / name)
        self.refused("CPackConfig.cmake does not exist", folder)

    def test_a_machine_without_cpack_or_strip(self):
        self.refused("install cmake", PATH=str(workshop.temporary_folder(self)))
        tools = workshop.temporary_folder(self)
        for name in ("cpack", "python3"):
            (tools / name).symlink_to(shutil.which(name))
        self.assertIn("cpack made no package", self.refused("install binutils", PATH=str(tools)))

    @mock.patch.object(staging, "LARGEST_BYTES", 1 << 20)
    @mock.patch.object(make_deb, "run_cpack", large_package)
    def test_too_much(self):
        out = workshop.temporary_folder(self) / "out"
        options = make_deb.make_parser().parse_args(["--build", str(workshop.BUILD), str(out)])
        with self.assertRaises(staging.PackageError):
            make_deb.make(options)
        self.assertEqual(list(out.iterdir()), [])


class Installed(unittest.TestCase):
    """In a folder that dpkg treats as the root of a machine; the tests run as root, or else dpkg-deb only unpacks."""

    @classmethod
    def setUpClass(cls):
        cls.folder = workshop.temporary_folder(cls)
        cls.package = workshop.package_of_the_build(workshop.DEB_MAKER)
        cls.root = cls.folder / "a root"
        cls.is_installed = os.geteuid() == 0
        if not cls.is_installed:
            checked("dpkg-deb", "-x", cls.package, cls.root)
            return
        (cls.root / "var/lib/dpkg/updates").mkdir(parents=True)
        (cls.root / "var/lib/dpkg/info").mkdir()
        (cls.root / "var/lib/dpkg/status").touch()
        cls.dpkg(cls.root, "--install", cls.package)

    @staticmethod
    def dpkg(root, *words):
        # Its packages are not in this root, but on the machine.
        checked("dpkg", f"--root={root}", f"--log={root}/dpkg.log", "--force-depends", *words,
                env={"PATH": SYSTEM_PATH, "LC_ALL": "C"})  # fmt: skip

    def setUp(self):
        self.home = workshop.temporary_folder(self)
        self.cache = self.home / ".cache/nanobench"

    def run_command(self, name, *words, root=None, **variables):
        """The command in the empty home, with nothing else in its environment. A download cannot succeed."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "TMPDIR": str(self.home), "OMP_NUM_THREADS": "1",
                       "PIP_NO_INDEX": "1", **{key: str(value) for key, value in variables.items()}}  # fmt: skip
        return command((root or self.root) / "usr/bin" / name, *words, cwd=self.home, env=environment)

    def nanobench(self, *words, **variables):
        done = self.run_command("nanobench", *words, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def write_suite(self, document):
        file = self.home / "suite.json"
        file.write_text(json.dumps(document))
        return file

    def test_version_and_lists(self):
        self.assertEqual(self.nanobench("--version").stdout.split()[:2], ["nanobench", VERSION])
        self.assertIn("record17", self.nanobench("list", "records").stdout)
        self.assertIn("speedrun_history", self.nanobench("list", "suites").stdout)
        self.assertEqual(list(self.home.rglob("*.so*")), [])

    def test_through_a_link_and_beside_a_package_of_the_same_name(self):
        (self.home / "nanobench").mkdir()
        for name in ("__init__", "launch"):
            (self.home / f"nanobench/{name}.py").write_text("raise SystemExit(9)")
        (self.home / "usr/bin").mkdir(parents=True)
        (self.home / "usr/bin/nanobench").symlink_to(self.root / "usr/bin/nanobench")
        for variables in ({}, {"PYTHONPATH": self.home}, {"PYTHONSAFEPATH": "1"}):
            done = self.run_command("nanobench", "--version", root=self.home, **variables)
            self.assertEqual((done.returncode, done.stderr), (0, ""), variables)

    def test_a_tiny_run(self):
        words = ("run", self.write_suite(TWO_RECORDS), "--threads", "1", "--quiet", "--json")
        done = self.nanobench(*words, NANOBENCH_TORCH=workshop.libtorch())
        text = json.dumps(json.loads(done.stdout))
        self.assertTrue("record17" in text and "record18" in text)
        self.assertIn(str(workshop.libtorch()), done.stderr)  # said at the first use
        runs = self.nanobench("list", "runs", "--json")
        self.assertEqual(len(workshop.completed_runs(runs.stdout)), 2, runs.stdout)

    def test_the_engine_alone(self):
        done = self.run_command("nanobench-train", "--build-info", NANOBENCH_TORCH=workshop.libtorch())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["libtorch"].startswith("2.11."))

    def test_a_trainer_of_the_user_inherits_nothing_of_ours(self):
        (self.home / "train.py").write_text(TRAINER)
        engine = {"command": [SYSTEM_PYTHON, "train.py", "{feature:x}"], "log": "speedrun", "steps": 3,
                  "features": {"x": {"values": {"off": "0", "on": "1"}, "before": "off", "after": "on"}}}  # fmt: skip
        suite = self.write_suite({"name": "own", "design": "add_one_in", "seeds": [1], "engine": engine})
        self.nanobench("run", suite, "--quiet")
        path, environment = json.loads(next(self.home.rglob("inherited.json")).read_text())
        self.assertEqual([folder for folder in path if "nanobench" in folder and str(self.root) in folder], [])
        for name in ("PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "LD_LIBRARY_PATH", "NANOBENCH_ENGINE"):
            self.assertNotIn(name, environment)
        # The folder whose module tells what Python loads, and none of the launcher's.
        self.assertRegex(environment["PYTHONPATH"], r"^[^:]*/nanobench-python-[^:/]+$")
        self.assertEqual((environment["PATH"], environment["HOME"]), ("/usr/bin:/bin", str(self.home)))

    def test_the_systems_pip_downloads_into_the_cache(self):
        if command(SYSTEM_PYTHON, "-m", "pip", "--version").returncode != 0:
            self.skipTest(f"{SYSTEM_PYTHON} has no pip; the Debian package python3-pip has it")
        root = self.home / "root"
        shutil.copytree(self.root / "usr", root / "usr")
        links = self.home / "links"
        links.mkdir()
        pin = fake_torch_wheel(links)
        pins = {"version": pin["version"], os.uname().machine: [pin]}
        (root / TREE / "setup/libtorch.json").write_text(json.dumps(pins))
        done = self.run_command("nanobench-train", "--build-info", root=root, PIP_FIND_LINKS=links,
                                PIP_REQUIRE_VIRTUALENV="true")  # fmt: skip
        self.assertTrue((self.cache / f"libtorch-{pin['version']}/libtorch.stamp").is_file(), done.stderr)
        self.assertTrue((self.cache / pin["file"]).is_file())
        self.assertNotEqual(done.returncode, 0)  # the library is a text

    def test_without_any_libtorch_pip_is_asked_and_says_why_not(self):
        done = self.run_command("nanobench", "run", self.write_suite(TWO_RECORDS))
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_removed_after_use_nothing_is_left(self):
        if not self.is_installed:
            self.skipTest("only root can have dpkg install into a folder")
        root = self.home / "a machine"
        shutil.copytree(self.root, root)
        before = set(root.rglob("*"))
        for words in (["--version"], ["run", "mock_gate", "--quiet"]):
            self.assertEqual(self.run_command("nanobench", *words, root=root).returncode, 0)
        self.assertEqual(set(root.rglob("*")), before)
        self.dpkg(root, "--remove", "nanobench")
        self.assertEqual(
            [path for path in root.rglob("*nanobench*") if path.parts[-2:] != ("info", "nanobench.list")], []
        )


if __name__ == "__main__":
    reason = workshop.missing_deb_tool()
    if reason:
        print(reason)
        sys.exit(77)
    unittest.main()
