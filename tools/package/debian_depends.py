"""The packages of Debian and Ubuntu that have every symbol version that the programs need.

The minimum of a package is the first release with the newest version that is needed, as dpkg-shlibdeps finds it (tests/package
compares the two).
"""

from platform_tag import NUMBERS, OLDEST, UnknownVersion, glibc_minor_of, numbers

# Versions of libstdc++6 with the newest GLIBCXX and CXXABI that they have. Behind the last line this code does not know.
LIBSTDCXX = (
    ("7", (3, 4, 24), (1, 3, 11)),
    ("8", (3, 4, 25), (1, 3, 11)),
    ("9", (3, 4, 26), (1, 3, 12)),
    ("10.2", (3, 4, 28), (1, 3, 12)),
    ("11", (3, 4, 29), (1, 3, 13)),
    ("12", (3, 4, 30), (1, 3, 13)),
    ("13.1", (3, 4, 31), (1, 3, 14)),
    ("13.2", (3, 4, 32), (1, 3, 14)),
    ("14", (3, 4, 33), (1, 3, 15)),
)
OLDEST_LIBGCC = (3, 0)
# What the launcher needs, and what downloads LibTorch.
PYTHON = ("python3 (>= 3.9)", "python3-pip")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def _versions(symbols, family):
    """The numbers of a family's symbol versions. Those without a number, as CXXABI_FLOAT128, are older than every line."""
    found = [symbol.removeprefix(f"{family}_") for symbol in symbols if symbol.startswith(f"{family}_")]
    return [numbers(version) for version in found if NUMBERS.fullmatch(version)]


def _libstdcxx(symbols):
    glibcxx = max(_versions(symbols, "GLIBCXX"), default=(0,))
    cxxabi = max(_versions(symbols, "CXXABI"), default=(0,))
    for release, newest_glibcxx, newest_cxxabi in LIBSTDCXX:
        if glibcxx <= newest_glibcxx and cxxabi <= newest_cxxabi:
            return release
    needed = ".".join(map(str, glibcxx)), ".".join(map(str, cxxabi))
    raise UnknownVersion(
        f"GLIBCXX_{needed[0]} or CXXABI_{needed[1]} is newer than tools/package/debian_depends.py knows; add a line to its LIBSTDCXX"
    )


def _libgcc(symbols):
    """The versions of libgcc's symbols are those of GCC: GCC_12.0.0 came with 12."""
    newest = list(max([OLDEST_LIBGCC, *_versions(symbols, "GCC")]))
    while len(newest) > 1 and newest[-1] == 0 and newest[0] > OLDEST_LIBGCC[0]:
        newest.pop()
    return ".".join(map(str, newest))


def depends(symbols):
    """The packages with their minimum versions, in the order of their names. Throws UnknownVersion."""
    glibc = max([OLDEST, *(glibc_minor_of(symbol) for symbol in symbols if symbol.startswith("GLIBC_"))])
    libraries = [
        f"libc6 (>= 2.{glibc})",
        f"libgcc-s1 (>= {_libgcc(symbols)})",
        f"libstdc++6 (>= {_libstdcxx(symbols)})",
    ]
    return [*libraries, *PYTHON]
