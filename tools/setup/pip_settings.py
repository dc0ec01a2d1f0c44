"""What pip on this machine is told about where packages come from.

We download by ourselves because pip starts a broken download over from zero, but the person has told pip, not us, which
index, mirror, proxy and certificates to use. So everything is read from pip's own configuration and its own default.
"""

import ast
import dataclasses
import os
import subprocess
import sys


@dataclasses.dataclass(frozen=True)
class PipSettings:
    index_urls: tuple = ()  # simple-index addresses without a trailing slash, in order of preference
    find_links: tuple = ()  # folders, file: addresses or pages that list wheels; looked at before the indexes
    cert: str = ""  # file or folder of certificates; empty: the system's
    proxy: str = ""  # empty: http_proxy and https_proxy of the environment
    trusted_hosts: tuple = ()  # host or host:port whose certificate is not checked
    timeout_s: float = 60.0


def read_pip_settings():
    """Returns the PipSettings of this user; without an importable pip only PIP_* of the environment is known."""
    values = _configured_values()
    no_index = values.get("no-index", "").lower() in ("1", "true", "yes", "on")
    index_urls = []
    if not no_index:
        index_urls = [values.get("index-url") or _default_index_url(), *values.get("extra-index-url", "").split()]
    return PipSettings(
        index_urls=tuple(url.rstrip("/") for url in index_urls if url),
        find_links=tuple(values.get("find-links", "").split()),
        cert=os.path.expanduser(values.get("cert", "")),
        proxy=values.get("proxy", ""),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        timeout_s=max(15.0, _number(values.get("default-timeout") or values.get("timeout"), 60.0)),
    )


def _configured_values():
    """pip's option names and values; later sections win: global, then the download command's own, then PIP_*."""
    values = {}
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout
    for section in ("global.", "download."):
        for line in listing.splitlines():
            name, separator, value = line.partition("=")
            if separator and name.startswith(section):
                values[name[len(section) :]] = str(ast.literal_eval(value))
    for name, value in os.environ.items():
        if name.startswith("PIP_") and value:
            values[name[len("PIP_") :].lower().replace("_", "-")] = value
    return values


def _default_index_url():
    try:
        from pip._internal.models.index import PyPI
    except Exception:  # pip is absent, or has moved its internals: the caller falls back to `pip download`
        return ""
    return PyPI.simple_url


def _number(text, default):
    try:
        return float(text)
    except (TypeError, ValueError):
        return default
