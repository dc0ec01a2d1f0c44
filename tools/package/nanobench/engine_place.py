"""The engine, put beside the LibTorch that it is to use.

The engine's run path is $ORIGIN/lib. So it is copied into a folder of the cache whose lib is a link to LibTorch's
libraries. A variable like LD_LIBRARY_PATH would also reach trainers of the user, which may have a torch of their own.
"""

import hashlib
import os
import pathlib
import shutil
import tempfile

ENGINE = pathlib.Path(__file__).resolve().parent / "engine" / "nanobench-train"


def _folder_for(engine, libraries, cache):
    digest = hashlib.sha256(engine.read_bytes())
    digest.update(os.fsencode(libraries))
    return cache / "engines" / digest.hexdigest()[:16]


def placed_engine(libraries, cache, engine=ENGINE):
    """The engine for the LibTorch in the folder `libraries`. Its folder appears complete or not at all, also when several
    processes make it at the same time. Throws OSError."""
    folder = _folder_for(engine, libraries, cache)
    program = folder / engine.name
    if not program.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = pathlib.Path(tempfile.mkdtemp(prefix=".placing-", dir=folder.parent))
        try:
            shutil.copyfile(engine, fresh / engine.name)
            (fresh / engine.name).chmod(0o755)
            (fresh / "lib").symlink_to(libraries)
            fresh.chmod(0o755)
            fresh.rename(folder)
        except OSError:
            if not program.is_file():  # else another process was first
                raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return program
