"""Every link of every Markdown file leads somewhere, docs/README.md lists every page, and README.md is short and names
commands that exist.

    NANOBENCH=build/release/bin/nanobench python3 tests/documents/links_test.py
"""

import pathlib
import re
import subprocess
import unittest

import workbench

MOST_README_LINES = 90
MOST_README_WORDS = 900  # of which a quarter is tables: three minutes
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
LEFT_OUT = {"build", ".deps", ".git", ".cache", "node_modules", "shared"}


def pages():
    for file in sorted(workbench.ROOT.rglob("*.md")):
        if not LEFT_OUT.intersection(file.relative_to(workbench.ROOT).parts):
            yield file


def without_code(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(file):
    """The names that GitHub gives to the headings."""
    titles = re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```", "", file.read_text(), flags=re.M | re.S), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(file):
    broken = []
    for target in LINK.findall(without_code(file.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        page = (file.parent / path).resolve() if path else file
        if not page.exists() or (anchor and anchor not in anchors(page)):
            broken.append(target)
    return broken


def commands():
    """Commands of the program and of the launcher, as completion offers them."""
    program = [str(workbench.PROGRAM), "complete", "--launcher", ""]
    lines = subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split("\t")[0] for line in lines[1:]}


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        seen = 0
        for file in pages():
            seen += 1
            self.assertEqual(broken_links(file), [], file)
        self.assertGreater(seen, 20)

    def test_code_holds_no_link_and_headings_are_anchors(self):
        page = workbench.ROOT / "docs" / "README.md"
        known = anchors(page)
        self.assertIn("first-steps", known)
        self.assertEqual(LINK.findall(without_code("[a](b.md) `[c](d.md)`\n\n    [e](f.md)\n")), ["b.md"])

    def test_the_index_lists_every_page(self):
        index = workbench.ROOT / "docs" / "README.md"
        listed = {(index.parent / target).resolve() for target in LINK.findall(index.read_text())}
        for page in sorted(index.parent.glob("*.md")):
            if page != index:
                self.assertIn(page.resolve(), listed, "missing in docs/README.md")


class Readme(unittest.TestCase):
    def setUp(self):
        self.text = (workbench.ROOT / "README.md").read_text()

    def test_it_is_short(self):
        self.assertLessEqual(len(self.text.splitlines()), MOST_README_LINES)
        self.assertLessEqual(len(self.text.split()), MOST_README_WORDS)

    def test_it_has_two_commands_a_table_and_the_way_on(self):
        title, *sections = re.split(r"^## ", self.text, flags=re.M)
        self.assertTrue(title.startswith("# nanobench"))
        names = [section.splitlines()[0] for section in sections]
        self.assertEqual(names[:3], ["Try it", "What it prints", "Where to go on"])
        self.assertEqual(len(re.findall(r"^ {4}\./nanobench ", sections[0], flags=re.M)), 2)
        self.assertIn("| --- |", sections[1])
        self.assertIn("(docs/README.md)", sections[2])

    def test_its_commands_exist(self):
        named = set(re.findall(r"`?\./nanobench ([a-z]+)", self.text))
        self.assertGreater(len(named), 8)
        self.assertEqual(named - commands(), set())

    def test_its_pages_name_commands_that_exist(self):
        known = commands()
        for target in LINK.findall(self.text):
            page = workbench.ROOT / target
            if page.suffix != ".md" or not page.exists():
                continue
            for name in re.findall(r"^ {4}(?:\./)?nanobench ([a-z]+)\b", page.read_text(), flags=re.M):
                self.assertIn(name, known, pathlib.Path(target))


if __name__ == "__main__":
    unittest.main()
