"""The HTML report in a real browser: it draws, answers, prints, loads nothing, and runs nothing that an imported text says.

    NANOBENCH=build/release/bin/nanobench python3 tests/browser/report_page_test.py

NANOBENCH_UPDATE_PICTURES=1 writes the stored pictures anew.
"""

import json
import os
import pathlib
import unittest

import chromium
from chromium import workbench
from workbench import FACTORIAL, HISTORY

PICTURES = pathlib.Path(__file__).resolve().parent / "pictures"
TOLERANCE = 0.03  # of full scale, mean over the picture: fonts differ from one system to the next

ATTACKS = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    '"><svg onload="window.hacked = 1">',
    "' onmouseover='window.hacked = 1' x='",
    "javascript:window.hacked = 1",
    "<!--<script>window.hacked = 1</script>",
    "{{constructor.constructor('window.hacked = 1')()}}",
    "\u202e\u0000\u2028<b>bold</b>]]>",
]


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        workbench.Workbench.of(cls)
        cls.history = cls.page_of(HISTORY)
        cls.factorial = cls.page_of(FACTORIAL)
        chromium.Chromium.for_tests(cls)

    @classmethod
    def page_of(cls, suite):
        cls.bench.run_suite(suite)
        return cls.bench.page(suite["name"], "report", "--suite", suite["name"])

    def show(self, page, **screen):
        self.browser.show(**screen)
        self.browser.open(page)
        self.browser.wait("document.body.dataset.drawn == 'yes'")

    def assert_quiet(self, page):
        self.assertEqual(self.browser.problems(), [])
        others = [url for url in self.browser.requests() if not url.startswith("data:")]
        self.assertEqual(others, ["file://" + str(page)], "the page asked for something")

    def test_every_chart_draws_and_nothing_is_loaded(self):
        wanted = {
            "history": ["effects", "speed", "loss", "phases", "memory", "order", "loss_residuals", "time_residuals"],
            "factorial": [
                "effects",
                "interactions",
                "speed",
                "loss",
                "phases",
                "memory",
                "order",
                "loss_residuals",
                "time_residuals",
            ],
        }
        for page in (self.history, self.factorial):
            for screen in ({}, {"width": 400}, {"scheme": "dark"}):
                with self.subTest(page=page.stem, **screen):
                    self.show(page, **screen)
                    self.browser.open_parts()
                    self.assert_quiet(page)
                    charts = self.browser.evaluate(
                        "[...document.querySelectorAll('figure')].map((f) => [f.dataset.chart, f.dataset.drawn, "
                        "f.querySelectorAll('.plot svg .mark-rect path, .plot svg .mark-symbol path, .plot svg .mark-line "
                        "path, .plot svg .mark-rule line').length > 2])"
                    )
                    self.assertEqual(charts, [[chart, "yes", True] for chart in wanted[page.stem]])

    def test_narrow_and_wide_screens_need_no_sideways_scrolling(self):
        for width in (400, 800, 1600):
            self.show(self.factorial, width=width)
            self.browser.open_parts()
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)

    def test_the_loss_is_drawn_against_what_is_chosen(self):
        self.show(self.history)
        axis = (
            "[...document.querySelectorAll('#chart_loss svg .role-axis-label text')]"
            ".map((label) => label.textContent).join(' ')"
        )
        seen = {self.browser.evaluate(axis)}
        for choice in ("tokens", "seconds", "all"):
            self.browser.evaluate(f"document.querySelector('#chart_loss input[value={choice}]').click()")
            self.browser.evaluate("new Promise((done) => setTimeout(done, 300))")
            seen.add(self.browser.evaluate(axis))
        self.assertEqual(len(seen), 4, seen)

    def test_a_tooltip_says_what_is_under_the_pointer(self):
        self.show(self.history)
        self.browser.open_parts()
        x, y = self.browser.evaluate(
            "(() => { const mark = document.querySelector('#chart_memory .mark-rect path'); mark.scrollIntoView(); "
            "const box = mark.getBoundingClientRect(); return [box.x + 20, box.y + box.height / 2]; })()"
        )
        self.browser.move_mouse(x - 1, y)
        self.browser.move_mouse(x, y)
        self.browser.wait("document.querySelector('#vg-tooltip-element.visible') !== null")
        self.assertIn("record1", self.browser.evaluate("document.querySelector('#vg-tooltip-element').textContent"))

    def test_a_long_table_is_filtered(self):
        suite = {
            **HISTORY,
            "name": "long",
            "design": "history",
            "seeds": [1],
            "records": [f"record{n}" for n in range(1, 18)],
        }
        page = self.page_of(suite)
        self.show(page)
        count = "[...document.querySelector('#table_rows tbody').rows].filter((row) => !row.hidden).length"
        before = self.browser.evaluate(count)
        self.browser.evaluate(
            "(() => { const input = document.querySelector('#table_rows .filter'); input.value = 'record17'; "
            "input.dispatchEvent(new Event('input')); })()"
        )
        self.assertEqual(before, len(suite["records"]))
        self.assertEqual(self.browser.evaluate(count), 1)

    def test_the_data_of_a_chart_is_whole(self):
        self.show(self.history)
        data = self.browser.evaluate(
            "JSON.parse(document.querySelector('#chart_memory script').textContent).datasets.data"
        )
        self.assertEqual([row["row"] for row in data], HISTORY["records"])
        table = self.browser.evaluate("document.querySelectorAll('#chart_memory details tbody tr').length")
        self.assertEqual(table, len(HISTORY["records"]))

    def test_hostile_text_does_nothing(self):
        for number, attack in enumerate(ATTACKS):
            suite = {**HISTORY, "name": f"hostile{number}", "title": attack, "text": attack, "seeds": [1]}
            page = self.page_of(suite)
            with self.subTest(attack=attack):
                self.show(page)
                self.assert_quiet(page)
                self.assertIsNone(self.browser.evaluate("window.hacked ?? null"))
                self.assertEqual(self.browser.evaluate("document.querySelectorAll('img, iframe, object, b').length"), 0)
                self.assertIn(attack[:6].strip("\u202e\u0000\u2028"), self.browser.evaluate("document.title"))

    def test_a_chart_with_hostile_names_draws_them_as_text(self):
        data = self.history.read_text()
        attack = json.dumps("<img src=x onerror='window.hacked=1'>").replace("<", "\\u003c")
        page = self.bench.folder / "names.html"
        begin = data.index('<script type="application/json">')
        end = data.index("</main>")
        page.write_text(data[:begin] + data[begin:end].replace('"record12"', attack) + data[end:])
        self.show(page)
        self.assert_quiet(page)
        self.assertIsNone(self.browser.evaluate("window.hacked ?? null"))
        self.assertGreater(
            self.browser.evaluate(
                "[...document.querySelectorAll('svg text')].filter((t) => t.textContent.includes('onerror')).length"
            ),
            0,
        )

    def test_a_foreign_script_is_refused(self):
        page = self.bench.folder / "foreign.html"
        page.write_text(self.history.read_text().replace("</main>", "<script>window.hacked = 1</script></main>"))
        self.browser.open(page)
        self.browser.wait("document.body.dataset.drawn == 'yes'")
        self.assertIsNone(self.browser.evaluate("window.hacked ?? null"))

    def test_it_prints(self):
        self.show(self.history)
        pdf = self.browser.pdf()
        self.assertTrue(pdf.startswith(b"%PDF-"))
        self.assertGreater(len(pdf), 20_000)

    def test_it_looks_as_it_did(self):
        for name, page, chart, screen in (
            ("speed_light", self.history, "speed", {}),
            ("speed_dark", self.history, "speed", {"scheme": "dark"}),
            ("speed_narrow", self.history, "speed", {"width": 400}),
            ("loss_light", self.history, "loss", {}),
            ("effects_narrow", self.factorial, "effects", {"width": 400}),
            ("interactions_dark", self.factorial, "interactions", {"scheme": "dark"}),
        ):
            with self.subTest(picture=name):
                self.show(page, **screen)
                # Alone at the page's corner: what stands above it must not move its pixels. A copy: Vega fits its own
                # drawing to the place that it was in, which is gone.
                box = self.browser.evaluate(
                    f"(() => {{ const drawing = document.querySelector('#chart_{chart} .plot svg').cloneNode(true); "
                    "document.body.style.cssText = 'margin: 0; padding: 0; max-width: none'; "
                    "document.body.replaceChildren(drawing); drawing.style.display = 'block'; scrollTo(0, 0); "
                    "const box = drawing.getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; })()"
                )
                picture = self.browser.picture((*box, 0.25))
                rows = chromium.pixels(picture)[2]
                colors = {row[i : i + 3] for row in rows for i in range(0, len(row), 3)}
                self.assertGreater(len(colors), 20, "nothing is drawn")
                file = PICTURES / f"{name}.png"
                if os.environ.get("NANOBENCH_UPDATE_PICTURES"):
                    PICTURES.mkdir(exist_ok=True)
                    file.write_bytes(picture)
                self.assertLess(difference(picture, file.read_bytes()), TOLERANCE)


def difference(a, b):
    """Mean difference of two pictures over what both have, as a part of full scale; 1 when their sizes are not alike."""
    width_a, height_a, rows_a = chromium.pixels(a)
    width_b, height_b, rows_b = chromium.pixels(b)
    if abs(width_a - width_b) > 0.05 * width_b or abs(height_a - height_b) > 0.1 * height_b:
        return 1.0
    width, height = min(width_a, width_b), min(height_a, height_b)
    total = sum(
        abs(x - y)
        for row_a, row_b in zip(rows_a[:height], rows_b[:height])
        for x, y in zip(row_a[: 3 * width], row_b[: 3 * width])
    )
    return total / (3 * width * height * 255)


if __name__ == "__main__":
    chromium.main()
