"""Fetches one pinned wheel: continues a broken download, checks the sha256, never leaves a wrong file under its name.

A wheel is looked for in the cache, in pip's find-links, then in pip's indexes. While it arrives it is called NAME.part;
stopping the program at any moment loses nothing that has arrived. If all of this fails, `pip download` has the last word.
"""

import base64
import hashlib
import html.parser
import http.client
import os
import pathlib
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

CHUNK_BYTES = 1 << 20
ATTEMPTS = 6  # in a row without a new byte; with the pauses between them about half a minute


class SetupError(Exception):
    """One sentence for the person: what failed, and what to do."""


def say(text):
    print(f"nanobench: {text}", file=sys.stderr, flush=True)


def run_setup(install, usage, what):
    """Calls install(DEPS_FOLDER, CACHE_FOLDER) with the command line's words; ends with the exit code that fits."""
    if len(sys.argv) != 3:
        sys.exit(usage)
    try:
        install(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
    except SetupError as error:
        say(str(error))
        sys.exit(2)
    except OSError as error:
        say(f"cannot set up {what}: {error}; put this right, then run the same command again")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def fetch(pin, cache, settings):
    """Returns the path of the verified wheel: in a find-links folder, or in the folder `cache`, downloaded if necessary.

    pin: an entry of libtorch.json or vl_convert.json. Raises SetupError when no source delivers the pinned bytes.
    """
    cached = cache / pin["file"]
    for path in [cached, *_local_copies(pin, settings)]:
        if path.is_file() and path.stat().st_size == pin["bytes"] and sha256_of(path) == pin["sha256"]:
            return path
    cache.mkdir(parents=True, exist_ok=True)
    try:
        _download_from_index(pin, cached, settings)
    except SetupError as error:
        say(f"{error}; trying pip")
        _download_by_pip(pin, cached, error)
    return cached


def _local_copies(pin, settings):
    for place in settings.find_links:
        address = urllib.parse.urlsplit(place)
        if address.scheme == "file":
            yield pathlib.Path(urllib.request.url2pathname(address.path)) / pin["file"]
        elif not address.scheme:
            yield pathlib.Path(place).expanduser() / pin["file"]


# --- from an index -------------------------------------------------------------------------------------------------


class _Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.hrefs = []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]


class _Web:
    """Opens addresses the way pip is configured: certificates, proxy, trusted hosts, user:password in the address."""

    def __init__(self, settings):
        self._settings = settings
        self._credentials = {}  # host -> value of the Authorization header

    def open(self, url, headers):
        address = urllib.parse.urlsplit(url)
        if address.username:
            user, password = (urllib.parse.unquote(part or "") for part in (address.username, address.password))
            token = base64.b64encode(f"{user}:{password}".encode()).decode()
            self._credentials[address.hostname] = f"Basic {token}"
            url = urllib.parse.urlunsplit(address._replace(netloc=address.netloc.rpartition("@")[2]))
        request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", **headers})
        if address.hostname in self._credentials:
            request.add_unredirected_header("Authorization", self._credentials[address.hostname])
        return self._opener(address).open(request, timeout=self._settings.timeout_s)

    def _opener(self, address):
        cert = self._settings.cert or None
        in_folder = cert is not None and os.path.isdir(cert)
        context = ssl.create_default_context(cafile=None if in_folder else cert, capath=cert if in_folder else None)
        if {address.hostname, address.netloc} & set(self._settings.trusted_hosts):
            context = ssl._create_unverified_context()
        proxies = {"http": self._settings.proxy, "https": self._settings.proxy} if self._settings.proxy else None
        return urllib.request.build_opener(
            urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
        )


def _download_from_index(pin, target, settings):
    web = _Web(settings)
    part = target.with_name(target.name + ".part")
    problem = "pip names no index to download from"
    for page in _pages(pin, settings):
        for _ in range(2):  # a second time from zero: the bytes of an earlier attempt may be the wrong ones
            try:
                url = _find_file(web, page, pin["file"])
                _download(web, url, part, pin)
            except SetupError as error:
                problem = str(error)
                break
            if sha256_of(part) == pin["sha256"]:
                os.replace(part, target)
                return
            part.unlink()
            problem = f"{pin['file']} arrived with another sha256 than the pinned one (tools/setup)"
            say(f"{problem}; starting it over")
    raise SetupError(problem)


def _pages(pin, settings):
    pages = [place for place in settings.find_links if place.startswith(("http:", "https:"))]
    return pages + [f"{index}/{pin['project']}/" for index in settings.index_urls]


def _find_file(web, page, file_name):
    headers = {"Accept": "application/vnd.pypi.simple.v1+html, text/html;q=0.5"}
    links = _Links()
    problem = None
    for pause_s in (0, 1, 3):
        time.sleep(pause_s)
        try:
            with web.open(page, headers) as response:
                links.feed(response.read().decode("utf-8", "replace"))
                base = response.geturl()
            break
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = error
    else:
        raise SetupError(f"cannot read the package index ({_reason(problem)})")
    for href in links.hrefs:
        url = urllib.parse.urljoin(base, href)
        path = urllib.parse.urlsplit(url).path
        if urllib.parse.unquote(path.rpartition("/")[2]) == file_name:
            return urllib.parse.urldefrag(url).url
    raise SetupError(f"the package index does not list {file_name}")


def _download(web, url, part, pin):
    """Appends to `part` until it has pin["bytes"] bytes; every broken connection continues where it stopped."""
    progress = Progress(pin["file"].split("-")[0], pin["bytes"])
    failures = 0
    while True:
        arrived = part.stat().st_size if part.exists() else 0
        if arrived == pin["bytes"]:
            progress.finish()
            return
        try:
            _continue_download(web, url, part, arrived, pin["bytes"], progress)
            problem = "the connection was closed early"
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) in (28, 122):  # disk full, quota
                raise SetupError(f"no space left in {part.parent}: free {pin['bytes'] >> 20} MB there") from error
            problem = _reason(error)
        after = part.stat().st_size if part.exists() else 0
        if after == pin["bytes"]:
            continue
        failures = 0 if after > arrived else failures + 1
        if failures >= ATTEMPTS:
            progress.finish()
            raise SetupError(f"the download of {pin['file']} keeps breaking off ({problem})")
        progress.note(f"connection lost ({problem}), continuing at {after >> 20} MB")
        time.sleep(min(2**failures, 16))


def _continue_download(web, url, part, arrived, total, progress):
    if arrived > total:
        part.unlink()
        arrived = 0
    headers = {"Range": f"bytes={arrived}-"} if arrived else {}
    with web.open(url, headers) as response:
        continues = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {arrived}-")
        if not continues:
            arrived = 0  # the server sends the whole file
        progress.start(arrived)
        with open(part, "ab" if continues else "wb") as file:
            while chunk := response.read(CHUNK_BYTES):
                file.write(chunk)
                arrived += len(chunk)
                progress.show(arrived)


def _reason(error):
    return str(getattr(error, "reason", "") or error) or type(error).__name__


class Progress:
    """A line that updates itself on a terminal; elsewhere a plain line at every tenth of the file."""

    def __init__(self, name, total):
        self._name, self._total = name, total
        self._live = sys.stderr.isatty()
        self._next_show = time.monotonic() + (0 if self._live else 2)
        self._next_tenth = 1
        self._begin_s = self._first = None

    def start(self, arrived):
        if self._begin_s is None:
            self._begin_s, self._first = time.monotonic(), arrived
            self._next_tenth = arrived * 10 // self._total + 1
            if arrived:
                say(f"continuing {self._name} at {arrived >> 20} of {self._total >> 20} MB")

    def show(self, arrived):
        now = time.monotonic()
        if self._live and now >= self._next_show:
            self._next_show = now + 0.2
            print(f"\r\033[Knanobench:   {self._line(arrived, now)}", end="", file=sys.stderr, flush=True)
        elif not self._live and now >= self._next_show and arrived * 10 >= self._next_tenth * self._total:
            self._next_show = now + 2
            self._next_tenth = arrived * 10 // self._total + 1
            say(f"  {self._line(arrived, now)}")

    def note(self, text):
        self.finish()
        say(f"  {text}")

    def finish(self):
        if self._live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _line(self, arrived, now):
        per_second = (arrived - self._first) / max(now - self._begin_s, 1e-3)
        left_s = (self._total - arrived) / max(per_second, 1.0)
        return (
            f"{self._name} {arrived * 100 // self._total} % of {self._total >> 20} MB, "
            f"{per_second / (1 << 20):.1f} MB/s, {left_s:.0f} s left"
        )


# --- by pip --------------------------------------------------------------------------------------------------------


def _download_by_pip(pin, target, first_problem):
    tags = pin["file"][: -len(".whl")].split("-")[2:]  # python, abi, platforms
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(target.parent),
    ]
    command += ["--implementation", "cp", "--python-version", "3.11"]
    for platform in tags[2].split("."):
        command += ["--platform", platform]
    command.append(f"{pin['project']}=={pin['version']}")
    result = subprocess.run(command, stdout=sys.stderr)
    if result.returncode != 0 or not target.is_file():
        raise SetupError(
            f"cannot download {pin['file']}: {first_problem}, and pip failed as well; check the network and "
            "`pip config list`, then run the same command again (what has arrived is kept)"
        )
    if sha256_of(target) != pin["sha256"]:
        target.unlink()
        raise SetupError(
            f"{pin['file']} from pip has another sha256 than the one pinned in tools/setup: the index or a proxy "
            "changes the file; name another index in PIP_INDEX_URL"
        )
