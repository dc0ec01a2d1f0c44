"""wheels: only the pinned bytes are accepted, whatever breaks off or is killed, and what is in the cache needs no network."""

import contextlib
import hashlib
import io
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile
from unittest import mock

SETUP = pathlib.Path(__file__).resolve().parents[2] / "tools/setup"
sys.path.insert(0, str(SETUP))
import wheels  # noqa: E402
from wheel_server import WheelServer  # noqa: E402

NAME = "torch-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
OTHER = "nvidia_a-1.0-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"


def wheel_of(name, text=""):
    """A wheel that pip accepts, of about three megabytes that do not compress."""
    project, version = name.split("-")[:2]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{project}/data", random.Random(7).randbytes(3 << 20))
        archive.writestr(f"{project}/text", text)
        info = f"{project}-{version}.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


CONTENT = wheel_of(NAME)


def pin_of(content, name=NAME):
    return {
        "project": name.split("-")[0].replace("_", "-"),
        "version": "1.0",
        "file": name,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


class WheelsTest(unittest.TestCase):
    def setUp(self):
        self.server = WheelServer({NAME: CONTENT, "torch-1.0-cp312-none-any.whl": b"another"})
        self.addCleanup(self.server.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name) / "the cache"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")} | {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": self.server.index_url,
            "PIP_RETRIES": "0",
            "no_proxy": "127.0.0.1",
        }

    def names(self):
        return sorted(path.name for path in self.cache.iterdir() if path.name != "lock")


class Fetch(WheelsTest):
    def fetch(self, *pins, **settings):
        said = io.StringIO()
        with (
            tempfile.TemporaryFile("w+") as told_by_pip,
            mock.patch.dict(os.environ, {**self.environment, **settings}, clear=True),
            mock.patch("sys.stderr", told_by_pip),
            mock.patch.object(wheels, "say", lambda text: said.write(text + "\n")),
        ):
            return wheels.fetch(list(pins) or [pin_of(CONTENT)], self.cache, "LibTorch")

    def test_downloads_once_and_then_needs_no_network(self):
        other = wheel_of(OTHER)
        self.server.files[OTHER] = other
        pins = pin_of(CONTENT), pin_of(other, OTHER)
        paths = self.fetch(*pins)
        self.assertEqual([path.read_bytes() for path in paths], [CONTENT, other])
        self.server.requests.clear()
        self.assertEqual(self.fetch(*pins, PIP_INDEX_URL="http://127.0.0.1:9/simple"), paths)
        self.assertEqual(self.server.requests, [])
        self.assertEqual(self.names(), sorted([NAME, OTHER]))

    def test_a_connection_that_breaks_off_is_no_failure(self):
        self.server.cut_after = [1 << 20]
        self.assertEqual(self.fetch()[0].read_bytes(), CONTENT)
        self.assertGreater(len(self.server.file_requests()), 1)
        self.assertEqual(self.names(), [NAME])

    def test_progress_is_the_size_of_the_growing_file(self):
        self.server.hold = threading.Event()
        seen = []

        def show(progress, done):
            seen.append(done)
            if done > 0:
                self.server.hold.set()

        with mock.patch.object(wheels.Progress, "show", show):
            self.fetch()
        self.assertEqual(seen, sorted(seen))
        self.assertEqual([done for done in seen if done > len(CONTENT)], [])
        self.assertTrue(any(0 < done < len(CONTENT) for done in seen), seen)

    def test_gives_up_when_nothing_arrives(self):
        self.server.cut_after = [0] * 100
        with self.assertRaisesRegex(wheels.SetupError, "cannot download " + NAME):
            self.fetch()
        self.assertEqual(self.names(), [])

    def test_wrong_bytes_are_never_accepted(self):
        for other in (wheel_of(NAME, "changed"), CONTENT[:-1] + b"x"):
            with self.assertRaisesRegex(wheels.SetupError, f"cannot download {NAME} with its pinned sha256"):
                self.fetch(pin_of(other))
            self.assertEqual(self.names(), [])

    def test_a_damaged_file_in_the_cache_is_replaced(self):
        self.cache.mkdir()
        for left in (bytes(len(CONTENT)), CONTENT[:-1]):
            (self.cache / NAME).write_bytes(left)
            self.assertEqual(self.fetch()[0].read_bytes(), CONTENT)

    def test_unlisted_file_and_dead_index_are_sentences(self):
        with self.assertRaisesRegex(wheels.SetupError, "pip config list"):
            self.fetch(PIP_INDEX_URL="http://127.0.0.1:9/simple")
        self.server.files = {}
        with self.assertRaisesRegex(wheels.SetupError, "pip config list"):
            self.fetch()

    def test_places_are_those_of_pip(self):
        links = self.cache.parent / "links"
        links.mkdir()
        (links / NAME).write_bytes(CONTENT)
        second = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_EXTRA_INDEX_URL": self.server.index_url}
        for settings in (second, {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(links)}):
            with self.subTest(settings=settings):
                self.assertEqual(self.fetch(**settings)[0].read_bytes(), CONTENT)
                (self.cache / NAME).unlink()
        self.server.authorization = "Basic dXNlcjpwIHc="  # user:p w
        place = f"http://user:p%20w@{self.server.address}/simple"
        self.assertEqual(self.fetch(PIP_INDEX_URL=place)[0].read_bytes(), CONTENT)

    def test_people_who_forbid_pip_outside_an_environment_get_it_too(self):
        config = self.cache.parent / "pip.conf"
        config.write_text("[global]\nrequire-virtualenv = true\n")
        for settings in ({"PIP_REQUIRE_VIRTUALENV": "1"}, {"PIP_CONFIG_FILE": str(config)}):
            self.assertEqual(self.fetch(**settings)[0].read_bytes(), CONTENT)
            (self.cache / NAME).unlink()

    def test_full_disk_is_told_before_the_download(self):
        self.cache.mkdir()
        needed = wheels.bytes_to_download([pin_of(CONTENT)], self.cache)
        self.assertEqual(needed, 2 * len(CONTENT), "pip makes a copy")
        for free, is_enough in ((needed, True), (needed - 1, False)):
            with mock.patch("shutil.disk_usage", lambda folder, free=free: mock.Mock(free=free)):
                refused = (
                    contextlib.nullcontext() if is_enough else self.assertRaisesRegex(wheels.SetupError, "disk space")
                )
                with refused:
                    wheels.check_space({self.cache: needed}, "LibTorch")
        with (
            mock.patch("shutil.disk_usage", lambda folder: mock.Mock(free=needed)),
            self.assertRaisesRegex(wheels.SetupError, "disk space"),
        ):
            wheels.check_space({self.cache: needed, self.cache.parent: 1}, "LibTorch")
        (self.cache / NAME).write_bytes(CONTENT)
        self.assertEqual(wheels.bytes_to_download([pin_of(CONTENT)], self.cache), 0)


class Processes(WheelsTest):
    """The whole program, stopped and started."""

    def start(self, pin=None):
        script = (
            f"import sys; sys.path.insert(0, {str(SETUP)!r}); import wheels\n"
            f"wheels.run_setup(lambda deps, cache: wheels.fetch([{pin or pin_of(CONTENT)!r}], cache, 'x'), '', 'x')"
        )
        command = [sys.executable, "-B", "-c", script, "deps", str(self.cache)]
        child = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.stderr.close)
        return child

    def descendants(self):
        """Processes that work in the cache folder."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if str(self.cache).encode() in (entry / "environ").read_bytes():
                    found.append(entry.name)
        return found

    def test_exit_codes_and_one_sentence(self):
        done = self.start()
        self.assertEqual((done.communicate()[1][:10], done.returncode), ("nanobench:", 0))
        refused = self.start(pin_of(wheel_of(NAME, "changed")))
        last = refused.communicate()[1].splitlines()[-1]
        self.assertEqual(refused.returncode, 2)
        self.assertTrue(last.startswith(f"nanobench: cannot download {NAME}"), last)

    def test_a_killed_download_leaves_nothing_that_counts(self):
        for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 130)):
            self.server.hold, self.server.half_sent = threading.Event(), threading.Event()
            child = self.start()
            self.assertTrue(self.server.half_sent.wait(30))
            child.send_signal(number)
            self.assertEqual(child.wait(30), code)
            if number == signal.SIGTERM:
                self.assertEqual(self.descendants(), [], "pip ends with it")
            self.assertFalse((self.cache / NAME).exists())
            self.server.hold.set()
            while self.descendants():  # a pip whose parent was killed would write among what is swept away
                time.sleep(0.05)
            again = self.start()
            again.communicate()
            self.assertEqual(again.returncode, 0)
            self.assertEqual((self.cache / NAME).read_bytes(), CONTENT)
            self.assertEqual(self.names(), [NAME], "leftovers are swept away")
            (self.cache / NAME).unlink()

    def test_two_at_once_download_once(self):
        self.server.hold = threading.Event()
        first = self.start()
        self.assertTrue(self.server.half_sent.wait(30))
        second = self.start()
        self.assertIn("waiting for it", second.stderr.readline())
        self.server.hold.set()
        for child in (first, second):
            child.communicate()
            self.assertEqual(child.returncode, 0)
        self.assertEqual(len(self.server.file_requests()), 1)


if __name__ == "__main__":
    unittest.main()
