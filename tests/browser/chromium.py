"""A headless Chromium, driven over its DevTools protocol through two pipes: nothing but Python and the browser."""

import base64
import itertools
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "documents"))
import workbench  # noqa: F401  what the tests of pages are made from

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def find_program():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Chromium:
    """One browser with one page. `events` holds the events of the page since it was opened."""

    @classmethod
    def for_tests(cls, case):
        """A browser for a test class, as cls.browser; closed after its tests."""
        case.browser = cls()
        case.addClassCleanup(case.browser.close)

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory()
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._process = subprocess.Popen(
            [
                find_program(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-dev-shm-usage",
                "--force-color-profile=srgb",
                f"--user-data-dir={self._profile.name}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=lambda: self._take_pipes(to_browser, from_browser),  # noqa: PLW1509 (no threads here)
        )
        os.close(to_browser)
        os.close(from_browser)
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events = []
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    @staticmethod
    def _take_pipes(to_browser, from_browser):
        # Both may be 3 or 4 already, so they step aside first.
        reader, writer = os.dup(to_browser), os.dup(from_browser)
        os.dup2(reader, 3)
        os.dup2(writer, 4)

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        for _ in range(20):  # its children take a moment to let go of the profile
            try:
                self._profile.cleanup()
                return
            except OSError:
                time.sleep(0.1)

    def call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") != number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def _message(self, timeout_s=60):
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], timeout_s)[0]:
                raise TimeoutError("the browser says nothing")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser is gone")
            self._rest += chunk
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    # --- what a person does ---

    def show(self, width=1200, height=1000, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url="file://" + str(path))
        self.wait("document.readyState == 'complete'")

    def open_parts(self):
        """Opens what a page has folded, and waits for the charts in it."""
        self.evaluate("document.querySelectorAll('details.part').forEach((part) => { part.open = true; })")
        self.wait("[...document.querySelectorAll('figure')].every((figure) => figure.dataset.drawn !== undefined)")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, timeout_s=30):
        end_s = time.monotonic() + timeout_s
        while not self.evaluate(expression):
            if time.monotonic() > end_s:
                raise TimeoutError(expression)
            time.sleep(0.05)

    def move_mouse(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, clip=None):
        """PNG bytes of the page, or of clip = (x, y, width, height, scale)."""
        options = {"format": "png", "captureBeyondViewport": True}
        if clip:
            options["clip"] = dict(zip(("x", "y", "width", "height", "scale"), clip))
        return base64.b64decode(self.call("Page.captureScreenshot", **options)["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    # --- what the page did ---

    def of(self, method):
        self.evaluate("0")  # all earlier events have arrived then
        return [event["params"] for event in self.events if event.get("method") == method]

    def problems(self):
        """Errors on the console and exceptions, in words."""
        problems = [str(event["exceptionDetails"]) for event in self.of("Runtime.exceptionThrown")]
        problems += [str(event["args"]) for event in self.of("Runtime.consoleAPICalled") if event["type"] == "error"]
        return problems + [
            event["entry"]["text"] for event in self.of("Log.entryAdded") if event["entry"]["level"] == "error"
        ]

    def console(self):
        """Every line on the console, of any kind."""
        lines = [str(event["args"]) for event in self.of("Runtime.consoleAPICalled")]
        return self.problems() + lines + [event["entry"]["text"] for event in self.of("Log.entryAdded")]

    def requests(self):
        return [event["request"]["url"] for event in self.of("Network.requestWillBeSent")]


def main():
    if find_program() is None:
        raise SystemExit("there is no Chromium here (Debian's package: chromium)")
    unittest.main()


def pixels(png):
    """(width, height, rows of bytes: three a pixel) of an 8-bit RGB or RGBA picture."""
    at, data, header = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    width, height, depth, color = header[:4]
    assert depth == 8 and color in (2, 6) and header[6] == 0, header
    step = 3 if color == 2 else 4
    raw, stride, rows = zlib.decompress(data), width * step, []
    before = bytearray(stride)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - step] if i >= step else 0
            up, corner = before[i], before[i - step] if i >= step else 0
            if kind == 1:
                line[i] = (line[i] + left) & 255
            elif kind == 2:
                line[i] = (line[i] + up) & 255
            elif kind == 3:
                line[i] = (line[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                nearest = min((abs(guess - value), order, value) for order, value in enumerate((left, up, corner)))
                line[i] = (line[i] + nearest[2]) & 255
        rows.append(line)
        before = line
    return width, height, [bytes(b for i, b in enumerate(row) if step == 3 or i % 4 != 3) for row in rows]
