"""Makes the Python of a trainer tell which files it loads as modules, and which it reads and writes (python_modules.h).

Python imports this when it starts, because its folder is the first of PYTHONPATH. What it finds out goes to files
beside this one: a line for each path, which follows a letter for files that were opened to be read ("r") or written
("w"). It prints nothing, no failure of it reaches the trainer, and the sitecustomize that Python would have imported
without it is imported then.
"""

import atexit
import os
import sys
from importlib.machinery import PathFinder

_FOLDER = os.path.dirname(os.path.abspath(__file__))
# What settings are written in; data have other endings.
_TEXTS = (".py", ".json", ".json5", ".jsonnet", ".libsonnet", ".hocon", ".gin", ".yaml", ".yml", ".toml", ".ini")
_TEXTS += (".cfg", ".conf", ".properties", ".txt", ".xml", ".env", ".sql", ".proto", ".tmpl", ".j2", ".jinja", ".csv")
_MAX_PATHS = 20000  # beyond which a process tells of no more files that it opens


def _is_installed(path):
    return "/site-packages/" in path or "/dist-packages/" in path


class _Listener:
    """Finds no module, but hears of each that is about to be imported: a killed trainer says nothing at its end.

    It also hears of code that is executed in other ways (runpy, importlib, an archive) and of files that are opened.
    """

    def __init__(self):
        self.here = os.getcwd()
        self.report = os.path.join(_FOLDER, "loaded-" + str(os.getpid()))
        self.standard = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
        # A package of these is told once, and all within it at the end, so that imports take no longer.
        self.known = set(sys.builtin_module_names) | set(getattr(sys, "stdlib_module_names", ()))
        self.told = set()
        self.executed = set()

    def audit(self, event, values):
        if event == "exec":
            file = values[0].co_filename
            if file not in self.executed:
                self.executed.add(file)
                if not file.startswith("<") and not _is_installed(file):
                    self.tell([file])
        elif event == "open":
            self.hear_of_file(*values)

    def hear_of_file(self, path, mode, flags):
        if isinstance(path, (bytes, os.PathLike)):
            path = os.fsdecode(path)
        if not isinstance(path, str) or _is_installed(path):
            return
        if not path.lower().endswith(_TEXTS) and "." in os.path.basename(path):
            return
        path = os.path.join(os.getcwd(), path)
        if "/.git/" in path:  # the commit is no setting: the files that it changed count by themselves
            return
        is_written = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.tell([path], "w" if is_written else "r")

    def find_spec(self, name, path=None, target=None):
        try:
            self.hear(name, path)
        except Exception:
            pass

    def hear(self, name, path):
        if name in self.known or name.rpartition(".")[0] in self.known:
            self.known.add(name)
            return
        file = self.file_of(PathFinder.find_spec(name, path))
        if file and _is_installed(file):
            self.known.add(name)
        self.tell([file])

    def file_of(self, spec):
        # Code that a program made and put into sys.modules by itself has no spec.
        return spec.origin if getattr(spec, "has_location", False) else None

    def tell(self, files, letter=""):
        lines = b""
        for file in files:
            if not file or not isinstance(file, str) or letter + file in self.told:
                continue
            if letter and len(self.told) >= _MAX_PATHS:
                continue
            self.told.add(letter + file)
            path = os.path.join(self.here, file)
            is_standard = path.startswith(self.standard) and not _is_installed(path)
            if not is_standard and "\n" not in path and "\0" not in path:
                lines += os.fsencode(letter + path) + b"\n"
        if lines:
            descriptor = os.open(self.report, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, lines)
            finally:
                os.close(descriptor)

    def tell_all(self):
        try:
            files = []
            for name, module in list(sys.modules.items()):
                scope = getattr(module, "__dict__", None)
                if not isinstance(scope, dict):
                    continue
                files.append(self.file_of(scope.get("__spec__")))
                if name == "__main__":  # its __file__ is gone by now
                    files.append(getattr(scope.get("__loader__"), "path", None))
            self.tell(files)
        except Exception:
            pass


def _guarded(audit):
    def hook(event, values):
        if event != "exec" and event != "open":  # nothing else may take time
            return
        try:
            audit(event, values)
        except Exception:
            pass

    return hook


def _listen():
    try:
        listener = _Listener()
        sys.meta_path.insert(0, listener)
        sys.addaudithook(_guarded(listener.audit))
        atexit.register(listener.tell_all)  # the first to register is the last to be called
    except Exception:
        pass


def _hand_on():
    """Imports the sitecustomize that this one hides."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _FOLDER]
    sys.path_importer_cache.pop(_FOLDER, None)
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if own is not None:
            sys.modules["sitecustomize"] = own


_listen()
_hand_on()
