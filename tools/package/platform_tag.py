"""The platform tag that is honest for a wheel: the oldest manylinux whose libraries have every symbol version needed.

PEP 600: manylinux_2_XX_ARCH promises that the wheel works with glibc 2.XX and newer, together with the compiler's libraries
(libstdc++, libgcc) that the distributions with this glibc have.
"""

import re

# LibTorch's own wheels need this one, so that an older tag would promise too much.
OLDEST = 28
# The newest versions that the distributions with glibc 2.XX have: XX, GLIBCXX, CXXABI, GCC. auditwheel has the same limits
# (tests/package compares). Behind the last line this code does not know.
LIMITS = (
    (28, (3, 4, 24), (1, 3, 11), (7, 0, 0)),
    (31, (3, 4, 28), (1, 3, 12), (7, 0, 0)),
    (34, (3, 4, 29), (1, 3, 13), (7, 0, 0)),
    (35, (3, 4, 30), (1, 3, 13), (12, 0, 0)),
    (39, (3, 4, 33), (1, 3, 15), (14, 0, 0)),
)
FAMILIES = {"GLIBCXX": 1, "CXXABI": 2, "GCC": 3}  # column of LIMITS
SPECIAL_GLIBC = {"ABI_DT_RELR": 36}
NUMBERS = re.compile(r"\d+(\.\d+)*")


class UnknownVersion(Exception):
    """One sentence: which symbol version no manylinux known here has."""


def numbers(text):
    return tuple(int(part) for part in text.split("."))


def _glibc_minor(version):
    if version in SPECIAL_GLIBC:
        return SPECIAL_GLIBC[version]
    if not NUMBERS.fullmatch(version) or numbers(version)[0] != 2:
        raise UnknownVersion(f"GLIBC_{version} belongs to no glibc that a wheel may need")
    return numbers(version)[1]


def glibc_minor_of(symbol):
    """XX of the oldest glibc 2.XX whose distributions have this symbol version ("GLIBCXX_3.4.30"). Versions of other
    libraries, such as libcudart's, do not matter. Throws UnknownVersion."""
    family, _, version = symbol.partition("_")
    if family == "GLIBC":
        return _glibc_minor(version)
    if family not in FAMILIES or not NUMBERS.fullmatch(version):
        return OLDEST
    for limits in LIMITS:
        if numbers(version) <= limits[FAMILIES[family]]:
            return limits[0]
    raise UnknownVersion(f"{symbol} is newer than tools/package/platform_tag.py knows; add a line to its LIMITS")


def platform_tag(symbols, machine):
    """ "manylinux_2_35_x86_64" for all symbol versions that the files of a wheel need. Throws UnknownVersion."""
    minor = max([OLDEST, *map(glibc_minor_of, symbols)])
    return f"manylinux_2_{minor}_{machine}"
