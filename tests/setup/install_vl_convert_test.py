"""install_vl_convert: the folder is there complete or not at all, and a wheel that cannot make the script is refused."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

SETUP = pathlib.Path(__file__).resolve().parents[2] / "tools/setup"
sys.path.insert(0, str(SETUP))
import install_vl_convert
from wheels import SetupError

GOOD = "def javascript_bundle(vl_version):\n    return '/*' + vl_version + '*/' + 'x;' * 100_000\n"
SHORT = "def javascript_bundle(vl_version):\n    return 'x'\n"
OPEN_ENDED = "def javascript_bundle(vl_version):\n    return 'x;' * 100_000 + '</SCRIPT>'\n"
BROKEN = "raise OSError('no such library')\n"


class InstallVlConvert(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = pathlib.Path(folder.name)
        self.deps, self.cache = self.base / "deps", self.base / "cache"
        self.pin = {"file": "a.whl", "sha256": "1", "bytes": 10}
        self.fetched = 0
        self.package = GOOD
        for name, stand_in in (("read_pin", lambda: (self.pin, "5.1")), ("fetch", self.fetch)):
            patch = mock.patch.object(install_vl_convert, name, stand_in)
            patch.start()
            self.addCleanup(patch.stop)

    def fetch(self, pins, cache, what):
        self.fetched += 1
        (pin,) = pins
        wheel = self.base / pin["file"]
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("vl_convert/__init__.py", self.package)
            archive.writestr("vl_convert-1.dist-info/licenses/LICENSE", "free")
            archive.writestr("vl_convert-1.dist-info/METADATA", "left out")
        return [wheel]

    def install(self):
        with contextlib.redirect_stderr(io.StringIO()):
            install_vl_convert.main(self.deps, self.cache)

    def place(self):
        return self.deps / "vl_convert"

    def test_it_leaves_package_script_and_licence(self):
        self.install()
        self.assertTrue((self.place() / "vega_bundle.js").read_text().startswith("/*5.1*/"))
        self.assertEqual((self.place() / "licences/LICENSE").read_text(), "free")
        self.assertEqual(sorted(path.name for path in self.deps.iterdir()), ["vl_convert"])

    def test_what_is_there_is_not_fetched_again_but_another_wheel_is(self):
        self.install()
        self.install()
        self.assertEqual(self.fetched, 1)
        self.pin = {**self.pin, "sha256": "2"}
        self.install()
        self.assertEqual(self.fetched, 2)
        self.assertIn(" 2 ", (self.place() / "stamp").read_text())
        self.assertFalse((self.place() / "old").exists())

    def test_a_wheel_that_makes_no_script_is_refused_and_the_old_one_stays(self):
        self.install()
        before = (self.place() / "stamp").read_text()
        self.pin = {**self.pin, "sha256": "2"}
        for package in (SHORT, OPEN_ENDED, BROKEN):
            with self.subTest(package=package):
                self.package = package
                with self.assertRaisesRegex(SetupError, "NANOBENCH_CHARTS=OFF"):
                    self.install()
                self.assertEqual((self.place() / "stamp").read_text(), before)
        self.package = GOOD
        self.install()
        self.assertEqual(sorted(path.name for path in self.deps.iterdir()), ["vl_convert"], "leftovers are swept away")


class Pins(unittest.TestCase):
    def test_are_complete(self):
        pins = json.loads((SETUP / "vl_convert.json").read_text())
        for machine in ("x86_64", "aarch64"):
            (pin,) = pins[machine]
            self.assertIn(machine, pin["file"])
            self.assertRegex(pin["sha256"], "^[0-9a-f]{64}$")


if __name__ == "__main__":
    unittest.main()
