"""Pages are valid HTML and can be read by everybody: html5lib and tidy find nothing, tables and charts have names and
headers, colours have contrast. What scripts add is looked at in tests/browser.

    NANOBENCH=build/release/bin/nanobench /usr/bin/python3 tests/documents/valid_pages_test.py

Needs Debian's python3-html5lib and tidy.
"""

import re
import shutil
import subprocess
import unittest

import html5lib
import workbench

NAMESPACE = "{http://www.w3.org/1999/xhtml}"
TEXT_CONTRAST = 4.5  # WCAG 2.1, 1.4.3
MARK_CONTRAST = 3.0  # 1.4.11


def channel(value):
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def luminance(color):
    red, green, blue = (channel(int(color[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def parse(text):
    """The tree, and the errors that html5lib finds."""
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"))
    return parser.parse(text), parser.errors


def tidied(page):
    """tidy's exit code, and the errors that it finds."""
    done = subprocess.run(
        ["tidy", "-errors", "-quiet", "--gnu-emacs", "yes", "--mute-id", "yes", str(page)],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


class ValidPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bench = workbench.Workbench.of(cls)
        bench.fill()
        bench.write_good_and_bad_logs()
        bench.run("import", workbench.GOOD_LOGS)
        cls.pages = [
            *(
                bench.page(suite, "report", "--suite", suite)
                for suite in ("factorial", "history", "failing", "speedrun_logs")
            ),
            bench.page("trend", "trend", "weekly"),
            bench.page("claims", "claims"),
            bench.page("compare", "compare", "record12", "record17", "--suite", "history"),
            bench.page("audit", "audit", workbench.GOOD_LOGS, workbench.BAD_LOGS, "--runs", codes=(1,)),
            bench.page("arms", "compare", workbench.GOOD_LOGS, workbench.BAD_LOGS),
            bench.page("review", "audit", workbench.GOOD_LOGS, codes=(1,)),
        ]
        cls.trees = {page.name: cls.parsed(page) for page in cls.pages}

    @staticmethod
    def parsed(page):
        tree, errors = parse(page.read_text(encoding="utf-8"))
        assert not errors, (page.name, errors[:5])
        return tree

    def elements(self, tree, name):
        return list(tree.iter(NAMESPACE + name))

    def text(self, element):
        return "".join(element.itertext()).strip()

    @unittest.skipUnless(shutil.which("tidy"), "tidy is not here")
    def test_tidy_finds_nothing(self):
        for page in self.pages:
            self.assertEqual(tidied(page), (0, ""), page.name)

    def test_broken_pages_are_found(self):
        """Both validators must find a planted mistake: one of our pages with one error each time."""
        good = self.pages[0].read_text(encoding="utf-8")
        broken = {
            "an end that nothing began": ("</main>", "</main></section>"),
            "a cell in no row": ("<tbody>\n<tr>", "<tbody>\n"),
            "a heading that is never closed": ("</h1>", ""),
            "an attribute twice": ('<html lang="en">', '<html lang="en" lang="en">'),
        }
        for what, (ours, theirs) in broken.items():
            with self.subTest(what):
                self.assertEqual(good.count(ours) > 0, True)
                text = good.replace(ours, theirs, 1)
                self.assertTrue(parse(text)[1])
                if shutil.which("tidy"):
                    self.assertNotEqual(tidied(self.bench.write("broken.html", text)), (0, ""))

    def test_tables_have_headers(self):
        for page, tree in self.trees.items():
            for table in self.elements(tree, "table"):
                self.assertTrue(self.elements(table, "th"), page)
                for header in self.elements(table, "th"):
                    self.assertIn(header.get("scope"), ("col", "row"))
                width = len(self.elements(table, "th"))
                for row in self.elements(table.find(NAMESPACE + "tbody"), "tr"):
                    self.assertEqual(len(list(row)), width)

    def test_what_can_be_scrolled_has_a_name(self):
        for page, tree in self.trees.items():
            for element in tree.iter():
                if element.get("tabindex") is not None:
                    self.assertEqual((element.get("tabindex"), element.get("role")), ("0", "region"), page)
                    self.assertTrue(element.get("aria-label"))

    def test_charts_have_words_and_a_table(self):
        for tree in self.trees.values():
            for figure in self.elements(tree, "figure"):
                self.assertTrue(self.text(figure.find(NAMESPACE + "figcaption")))
                self.assertTrue(
                    self.text(next(child for child in figure if child.tag in (NAMESPACE + "h2", NAMESPACE + "h3")))
                )
                details = figure.find(NAMESPACE + "details")
                self.assertTrue(self.elements(details, "table") or details.get("data-fill") is not None)

    def test_headings_go_down_one_by_one(self):
        for page, tree in self.trees.items():
            levels = [
                int(element.tag[-1])
                for element in tree.iter()
                if isinstance(element.tag, str) and re.fullmatch(r"h[1-6]", element.tag.removeprefix(NAMESPACE))
            ]
            self.assertEqual(levels[0], 1)
            self.assertEqual(levels.count(1), 1)
            self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])), (page, levels))

    def test_names_are_there_once(self):
        for page, tree in self.trees.items():
            names = [element.get("id") for element in tree.iter() if element.get("id")]
            self.assertEqual(len(names), len(set(names)), page)
            self.assertEqual(tree.get("lang"), "en")
            self.assertTrue(self.text(self.elements(tree, "title")[0]))

    def test_colours_have_contrast(self):
        style = (workbench.ROOT / "reports/render/page/page.css").read_text()
        script = (workbench.ROOT / "reports/render/page/page.js").read_text()
        schemes = [
            dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]{6})", block))
            for block in re.findall(r":root \{(.*?)\}", style, re.S)
        ]
        palettes = [re.findall(r"#[0-9a-f]{6}", line) for line in re.findall(r"(?:light|dark): \[(.*?)\]", script)]
        self.assertEqual((len(schemes), len(palettes)), (2, 2))
        self.assertEqual(schemes[0].keys(), schemes[1].keys())
        for scheme, palette in zip(schemes, palettes):
            for text in ("ink", "soft", "link"):
                for ground in ("paper", "stripe"):
                    self.assertGreaterEqual(
                        contrast(scheme[text], scheme[ground]), TEXT_CONTRAST, (text, ground, scheme)
                    )
            for tone in ("better", "worse", "same", "open"):
                self.assertGreaterEqual(contrast(scheme[tone], scheme["paper"]), TEXT_CONTRAST, (tone, scheme))
            self.assertGreaterEqual(contrast(scheme["warn"], scheme["warn-paper"]), TEXT_CONTRAST)
            for color in palette:
                self.assertGreaterEqual(contrast(color, scheme["paper"]), MARK_CONTRAST, color)


if __name__ == "__main__":
    unittest.main()
