"""Every test carries the label of a folder of the tree, so that `ctest -L FOLDER` runs what a change there concerns.

    labels_test.py CTEST BUILD FOLDER...
"""

import collections
import json
import subprocess
import sys


def labels_of(test):
    return {label for entry in test.get("properties", []) if entry["name"] == "LABELS" for label in entry["value"]}


def main(ctest, build, *folders):
    command = [ctest, "--test-dir", build, "--show-only=json-v1"]
    tests = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["tests"]
    count = collections.Counter(label for test in tests for label in labels_of(test))
    # A program that is not built yet stands for its tests.
    bare = [test["name"] for test in tests if not labels_of(test) & set(folders) and "_NOT_BUILT" not in test["name"]]
    for name in bare:
        print(f"{name} has no label of a folder")
    for folder in folders:
        print(f"{folder}: {count[folder]} tests")
        if count[folder] == 0:
            bare.append(folder)
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
