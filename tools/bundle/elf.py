"""The part of an ELF file that the loader reads: the libraries and symbol versions that it needs, and its run path, which
can be cleared or replaced.

Only the 64-bit little-endian files of x86-64 and 64-bit ARM, which is what LibTorch is built for.
"""

import dataclasses
import pathlib
import struct

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 0, 1, 5, 14, 15, 29
DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
DYNAMIC_ENTRY = struct.Struct("<qQ")
NEEDED_LIBRARY = struct.Struct("<HHIII")  # version, count, name, offset of the versions, offset of the next library
NEEDED_VERSION = struct.Struct("<IHHII")  # hash, flags, index, name, offset of the next version


class NotElf(Exception):
    """The file is not an ELF file, or is broken."""


@dataclasses.dataclass
class Dynamic:
    needed: list  # names, in the order in which they are loaded
    soname: str
    run_paths: list  # folders of DT_RPATH and DT_RUNPATH, as written
    run_path_offsets: list  # offsets of the entries' values in the file


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _segments(data, path):
    if len(data) < 64 or data[:6] != b"\x7fELF\x02\x01":
        raise NotElf(f"{path} is not a 64-bit little-endian ELF file")
    (offset,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    try:
        return [PROGRAM_HEADER.unpack_from(data, offset + index * size) for index in range(count)]
    except struct.error as error:
        raise NotElf(f"{path} is cut off in its program headers") from error


def _file_offset(segments, address, path):
    for kind, _, offset, virtual, _, size_in_file, _, _ in segments:
        if kind == PT_LOAD and virtual <= address < virtual + size_in_file:
            return offset + address - virtual
    raise NotElf(f"{path} has no segment with its dynamic strings")


def _entries(data, segments):
    """(tag, value, offset of the value in the file) of the dynamic section."""
    for kind, _, offset, _, _, size, _, _ in segments:
        if kind != PT_DYNAMIC:
            continue
        for place in range(offset, offset + size, DYNAMIC_ENTRY.size):
            tag, value = DYNAMIC_ENTRY.unpack_from(data, place)
            if tag == DT_NULL:
                return
            yield tag, value, place + 8


def _string(data, begin):
    """Throws ValueError if it does not end."""
    return data[begin : data.index(b"\0", begin)].decode("utf-8", "replace")


def read_dynamic(path):
    """Throws NotElf. A static program needs nothing."""
    data = pathlib.Path(path).read_bytes()
    segments = _segments(data, path)
    found = Dynamic([], "", [], [])
    try:
        entries = list(_entries(data, segments))
        addresses = [value for tag, value, _ in entries if tag == DT_STRTAB]
        if not addresses:
            return found
        strings = _file_offset(segments, addresses[0], path)
        for tag, value, place in entries:
            if tag not in (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH):
                continue
            text = _string(data, strings + value)
            if tag == DT_NEEDED:
                found.needed.append(text)
            elif tag == DT_SONAME:
                found.soname = text
            else:
                found.run_paths += [folder for folder in text.split(":") if folder]
                found.run_path_offsets.append(place)
    except (struct.error, ValueError) as error:
        raise NotElf(f"{path} is cut off in its dynamic section") from error
    return found


def clear_run_path(path):
    """Clears the run path, so that the loader searches only the folders of the environment and the system. The path becomes
    the empty string, which begins every string table and which every loader ignores."""
    dynamic = read_dynamic(path)
    with open(path, "r+b") as file:
        for offset in dynamic.run_path_offsets:
            file.seek(offset)
            file.write(struct.pack("<Q", 0))


def needed_versions(path):
    """The symbol versions that the file needs ("GLIBC_2.34"), by the library that has them. Throws NotElf."""
    data = pathlib.Path(path).read_bytes()
    segments = _segments(data, path)
    found = {}
    try:
        values = {tag: value for tag, value, _ in _entries(data, segments)}
        if DT_VERNEED not in values or DT_STRTAB not in values:
            return found
        strings = _file_offset(segments, values[DT_STRTAB], path)
        place = _file_offset(segments, values[DT_VERNEED], path)
        for _ in range(values.get(DT_VERNEEDNUM, 0)):
            _, count, name, first, following = NEEDED_LIBRARY.unpack_from(data, place)
            versions = found.setdefault(_string(data, strings + name), [])
            at = place + first
            for _ in range(count):
                _, _, _, version, step = NEEDED_VERSION.unpack_from(data, at)
                versions.append(_string(data, strings + version))
                at += step
            place += following
    except (struct.error, ValueError) as error:
        raise NotElf(f"{path} is cut off in its symbol versions") from error
    return found


def set_run_path(path, text):
    """Makes `text` the only run path of the file. It is written over an earlier one, because the string table cannot grow.
    Throws NotElf; ValueError if no earlier one has room for it."""
    offsets = read_dynamic(path).run_path_offsets
    data = pathlib.Path(path).read_bytes()
    segments = _segments(data, path)
    addresses = [value for tag, value, _ in _entries(data, segments) if tag == DT_STRTAB]
    new = text.encode()
    for offset in offsets:
        (value,) = struct.unpack_from("<Q", data, offset)
        begin = _file_offset(segments, addresses[0], path) + value
        length = data.index(b"\0", begin) - begin
        if len(new) > length:
            continue
        with open(path, "r+b") as file:
            file.seek(begin)
            file.write(new.ljust(length, b"\0"))
            for each in offsets:
                file.seek(each)
                file.write(struct.pack("<Q", value))
        return
    raise ValueError(f"{path} has no run path with room for {text}")
