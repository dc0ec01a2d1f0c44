"""fetch_wheel: what is downloaded survives breaks and kills, and nothing but the pinned bytes is ever accepted."""

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
from unittest import mock

SETUP = pathlib.Path(__file__).resolve().parents[2] / "tools/setup"
sys.path.insert(0, str(SETUP))
import fetch_wheel  # noqa: E402
from pip_settings import PipSettings, read_pip_settings  # noqa: E402
from wheel_server import WheelServer  # noqa: E402

NAME = "torch-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
CONTENT = random.Random(7).randbytes(3 << 20)


def pin_of(content):
    return {
        "project": "torch",
        "version": "1.0",
        "file": NAME,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


class FetchWheel(unittest.TestCase):
    def setUp(self):
        self.server = WheelServer({NAME: CONTENT, "torch-1.0-cp312-none-any.whl": b"another"})
        self.addCleanup(self.server.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name) / "the cache"
        self.settings = PipSettings(index_urls=(self.server.index_url,), timeout_s=20)
        self.said = io.StringIO()
        for change in (
            contextlib.redirect_stderr(self.said),
            mock.patch("time.sleep"),
            mock.patch.object(fetch_wheel, "_download_by_pip", self.no_pip),
        ):
            change.__enter__()
            self.addCleanup(change.__exit__, None, None, None)

    def no_pip(self, pin, target, problem):
        raise problem

    def fetch(self, content=CONTENT):
        return fetch_wheel.fetch(pin_of(content), self.cache, self.settings)

    def test_downloads_once(self):
        for _ in range(2):
            self.assertEqual(self.fetch().read_bytes(), CONTENT)
        self.assertEqual(self.server.file_requests(), [None])
        self.assertEqual([path.name for path in self.cache.iterdir()], [NAME])

    def test_continues_after_broken_connections(self):
        self.server.cut_after = [1000, 2 << 20, 0, 500]
        self.assertEqual(self.fetch().read_bytes(), CONTENT)
        at = 1000 + (2 << 20)
        self.assertEqual(
            self.server.file_requests(), [None, "bytes=1000-", f"bytes={at}-", f"bytes={at}-", f"bytes={at + 500}-"]
        )

    def test_continues_what_an_earlier_run_left(self):
        self.cache.mkdir()
        (self.cache / (NAME + ".part")).write_bytes(CONTENT[:12345])
        self.assertEqual(self.fetch().read_bytes(), CONTENT)
        self.assertEqual(self.server.file_requests(), ["bytes=12345-"])

    def test_server_without_ranges_sends_all_again(self):
        self.server.ranges = False
        self.server.cut_after = [1000]
        self.assertEqual(self.fetch().read_bytes(), CONTENT)

    def test_wrong_beginning_is_started_over(self):
        self.cache.mkdir()
        for left in (b"x" * 12345, b"x" * len(CONTENT), b"x" * (len(CONTENT) + 1)):
            (self.cache / (NAME + ".part")).write_bytes(left)
            self.assertEqual(self.fetch().read_bytes(), CONTENT)
            (self.cache / NAME).unlink()

    def test_wrong_bytes_are_never_accepted(self):
        wanted = bytes(len(CONTENT))
        with self.assertRaisesRegex(fetch_wheel.SetupError, "another sha256"):
            self.fetch(wanted)
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_damaged_cache_is_replaced(self):
        self.fetch().write_bytes(bytes(len(CONTENT)))
        self.assertEqual(self.fetch().read_bytes(), CONTENT)

    def test_gives_up_when_nothing_arrives(self):
        self.server.cut_after = [0] * 20
        with self.assertRaisesRegex(fetch_wheel.SetupError, "keeps breaking off"):
            self.fetch()

    def test_unlisted_file_and_dead_index_are_sentences(self):
        self.server.files = {}
        with self.assertRaisesRegex(fetch_wheel.SetupError, "does not list " + NAME):
            self.fetch()
        self.settings = PipSettings(index_urls=("http://127.0.0.1:9/simple",), timeout_s=5)
        with self.assertRaisesRegex(fetch_wheel.SetupError, "cannot read the package index"):
            self.fetch()

    def test_find_links_folder_is_used_in_place(self):
        links = self.cache.parent / "links"
        links.mkdir()
        (links / NAME).write_bytes(CONTENT)
        for place in (str(links), links.as_uri()):
            self.settings = PipSettings(index_urls=(self.server.index_url,), find_links=(place,))
            self.assertEqual(self.fetch(), links / NAME)
        self.assertEqual(self.server.requests, [])

    def test_password_of_the_index_is_sent(self):
        self.server.authorization = "Basic dXNlcjpwIHc="  # user:p w
        self.settings = PipSettings(index_urls=(f"http://user:p%20w@{self.server.address}/simple",))
        self.assertEqual(self.fetch().read_bytes(), CONTENT)

    def test_second_index_is_tried(self):
        self.settings = PipSettings(index_urls=("http://127.0.0.1:9/simple", self.server.index_url), timeout_s=5)
        self.assertEqual(self.fetch().read_bytes(), CONTENT)

    def test_pip_has_the_last_word(self):
        self.settings = PipSettings()
        calls = []
        with mock.patch.object(fetch_wheel, "_download_by_pip", lambda *args: calls.append(args)):
            self.fetch()
        self.assertEqual(calls[0][0]["file"], NAME)


class KilledDownload(unittest.TestCase):
    def test_loses_nothing_that_has_arrived(self):
        server = WheelServer({NAME: CONTENT})
        self.addCleanup(server.close)
        server.hold = threading.Event()
        with tempfile.TemporaryDirectory() as folder:
            part = pathlib.Path(folder) / (NAME + ".part")
            script = (
                f"import sys; sys.path.insert(0, {str(SETUP)!r}); import fetch_wheel, pathlib, pip_settings\n"
                f"fetch_wheel.fetch({pin_of(CONTENT)!r}, pathlib.Path({folder!r}),"
                f" pip_settings.PipSettings(index_urls=({server.index_url!r},)))"
            )
            command = [sys.executable, "-B", "-c", script]
            child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            server.half_sent.wait(30)
            while not part.exists() or part.stat().st_size < 1 << 20:
                time.sleep(0.01)
            child.send_signal(signal.SIGKILL)
            child.wait()
            arrived = part.stat().st_size
            server.hold.set()
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            self.assertEqual((pathlib.Path(folder) / NAME).read_bytes(), CONTENT)
            self.assertEqual(server.file_requests(), [None, f"bytes={arrived}-"])


class ReadPipSettings(unittest.TestCase):
    def test_environment_wins_over_files(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(
                "[global]\nindex-url = http://a/simple/\ncert = /c\n[download]\nextra-index-url = http://b/simple\n"
            )
            file.flush()
            kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
            kept |= {"PIP_CONFIG_FILE": file.name, "PIP_FIND_LINKS": "/x /y", "PIP_INDEX_URL": "http://e/simple"}
            with mock.patch.dict(os.environ, kept, clear=True):
                settings = read_pip_settings()
        self.assertEqual(settings.index_urls[0], "http://e/simple")
        self.assertEqual(settings.find_links, ("/x", "/y"))
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            self.assertEqual(settings.index_urls, ("http://e/simple", "http://b/simple"))
            self.assertEqual(settings.cert, "/c")

    def test_no_index_leaves_none(self):
        with mock.patch.dict(os.environ, {"PIP_NO_INDEX": "1"}):
            self.assertEqual(read_pip_settings().index_urls, ())


if __name__ == "__main__":
    unittest.main()
