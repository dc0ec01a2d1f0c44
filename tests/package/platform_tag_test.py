"""The tag of a wheel follows from the symbol versions that its programs need.

NANOBENCH=build/release/bin/nanobench python3 tests/package/platform_tag_test.py
"""

import json
import re
import shutil
import subprocess
import unittest

import workshop
from platform_tag import LIMITS, OLDEST, UnknownVersion, glibc_minor_of, platform_tag
from workshop import elf

ENGINE = workshop.BUILD / "bin/nanobench-train"


class Tag(unittest.TestCase):
    def test_the_newest_symbol_decides(self):
        for symbols, expected in (
            ([], "manylinux_2_28_x86_64"),
            (["GLIBC_2.2.5", "GLIBC_2.17"], "manylinux_2_28_x86_64"),  # older ones promise what LibTorch does not hold
            (["GLIBC_2.34", "GLIBC_2.9"], "manylinux_2_34_x86_64"),
            (["GLIBC_2.34", "GLIBCXX_3.4.30"], "manylinux_2_35_x86_64"),
            (["GLIBC_2.38", "GLIBCXX_3.4.30"], "manylinux_2_38_x86_64"),
            (["GLIBC_2.2.5", "CXXABI_1.3.13"], "manylinux_2_34_x86_64"),
            (["GCC_12.0.0"], "manylinux_2_35_x86_64"),
            (["GLIBC_ABI_DT_RELR"], "manylinux_2_36_x86_64"),
            (["libcudart.so.13", "CXXABI_FLOAT128"], "manylinux_2_28_x86_64"),
        ):
            self.assertEqual(platform_tag(symbols, "x86_64"), expected, symbols)
        self.assertEqual(platform_tag(["GLIBC_2.31"], "aarch64"), "manylinux_2_31_aarch64")

    def test_what_no_known_system_has_is_refused(self):
        for symbol in ("GLIBCXX_3.4.99", "CXXABI_1.4", "GCC_99.0.0", "GLIBC_PRIVATE", "GLIBC_3.0"):
            with self.assertRaises(UnknownVersion, msg=symbol):
                glibc_minor_of(symbol)

    def test_the_limits_are_those_of_auditwheel(self):
        found = list(
            (workshop.ROOT / ".deps/dev").glob("lib/python*/site-packages/auditwheel/policy/manylinux-policy.json")
        )
        if not found:
            self.skipTest("auditwheel is not in .deps/dev; tools/dev/format.sh puts it there")
        policies = {policy["name"]: policy for policy in json.loads(found[0].read_text())}
        lines = iter(LIMITS)
        line = next(lines)
        for minor in range(OLDEST, LIMITS[-1][0] + 1):
            policy = policies.get(f"manylinux_2_{minor}")
            if policy is None:
                continue
            following = next((other for other in LIMITS if other[0] == minor), None)
            line = following or line
            versions = policy["symbol_versions"]["x86_64"]
            for family, column in (("GLIBCXX", 1), ("CXXABI", 2), ("GCC", 3)):
                numbers = [
                    tuple(map(int, text.split("."))) for text in versions[family] if re.fullmatch(r"[\d.]+", text)
                ]
                self.assertEqual(max(numbers), line[column], f"{family} of manylinux_2_{minor}")


class Elf(unittest.TestCase):
    def setUp(self):
        self.copy = workshop.temporary_folder(self) / "engine"
        shutil.copy2(ENGINE, self.copy)

    def test_needed_versions_are_those_that_readelf_sees(self):
        shown = subprocess.run(["readelf", "-W", "-V", ENGINE], capture_output=True, text=True, check=True).stdout
        expected, library = {}, None
        for line in shown[shown.index(".gnu.version_r") :].splitlines():
            if file := re.search(r"File: (\S+)", line):
                library = file[1]
            elif name := re.search(r"Name: (\S+)", line):
                expected.setdefault(library, set()).add(name[1])
        self.assertIn("libstdc++.so.6", expected)
        self.assertEqual({name: set(versions) for name, versions in elf.needed_versions(ENGINE).items()}, expected)

    def test_a_file_without_versions_needs_none_and_a_cut_one_is_refused(self):
        data = self.copy.read_bytes()
        self.copy.write_bytes(data[:2000])
        with self.assertRaises(elf.NotElf):
            elf.needed_versions(self.copy)

    def test_the_run_path_is_replaced_and_nothing_else(self):
        before = elf.read_dynamic(self.copy)
        size = self.copy.stat().st_size
        elf.set_run_path(self.copy, "$ORIGIN/lib")
        after = elf.read_dynamic(self.copy)
        self.assertEqual(set(after.run_paths), {"$ORIGIN/lib"})
        self.assertEqual((after.needed, self.copy.stat().st_size), (before.needed, size))
        self.assertEqual(elf.needed_versions(self.copy), elf.needed_versions(ENGINE))

    def test_a_run_path_without_room_is_refused(self):
        before = self.copy.read_bytes()
        with self.assertRaises(ValueError):
            elf.set_run_path(self.copy, "x" * 5000)
        self.assertEqual(self.copy.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
