"""Makes the Python of a trainer tell which files it loads as modules (python_modules.h).

Python imports this when it starts, because its folder is the first of PYTHONPATH. What it finds out goes to files
beside this one. It prints nothing, no failure of it reaches the trainer, and the sitecustomize that Python would have
imported without it is imported then.
"""

import atexit
import os
import sys
from importlib.machinery import PathFinder

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _is_installed(path):
    return "/site-packages/" in path or "/dist-packages/" in path


class _Listener:
    """Finds no module, but hears of each that is about to be imported: a killed trainer says nothing at its end."""

    def __init__(self):
        self.here = os.getcwd()
        self.report = os.path.join(_FOLDER, "loaded-" + str(os.getpid()))
        self.standard = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
        # A package of these is told once, and all within it at the end, so that imports take no longer.
        self.known = set(sys.builtin_module_names) | set(getattr(sys, "stdlib_module_names", ()))
        self.told = set()

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

    def tell(self, files):
        lines = b""
        for file in files:
            if not file or file in self.told or not isinstance(file, str):
                continue
            self.told.add(file)
            path = os.path.join(self.here, file)
            is_standard = path.startswith(self.standard) and not _is_installed(path)
            if not is_standard and "\n" not in path and "\0" not in path:
                lines += os.fsencode(path) + b"\n"
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


def _listen():
    try:
        listener = _Listener()
        sys.meta_path.insert(0, listener)
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
