"""A report as people read it: cards, six columns, sorting, curves that zoom, one colour a cell, print, narrow screens,
screen readers, contrast, long names, few and many cells.

    NANOBENCH=build/release/bin/nanobench python3 tests/browser/page_reading_test.py
"""

import re
import sqlite3
import unittest

import chromium
from chromium import workbench
from workbench import FACTORIAL, HISTORY, LEAVE_ONE_OUT, MOCK, OWN, OWN_TRAINER

STANDARD = {**HISTORY, "name": "standard", "records": [f"record{n}" for n in range(12, 19)]}
CELLS = {
    1: {**HISTORY, "name": "one", "records": ["record12"], "seeds": [1, 2]},
    7: STANDARD,
    60: {
        **HISTORY,
        "name": "sixty",
        "records": [f"record{n}" for n in range(1, 61)],
        "seeds": [1, 2],
        "engine": {"mock": MOCK},
    },
}
SCREENS = ({}, {"scheme": "dark"}, {"width": 400})
OTHERS = ("external", "audit", "trend", "transfer", "asked")
LONG = "a_name_of_two_hundred_characters_" + "x" * 167

TEXTS = """(() => {
  const rgb = (text) => text.match(/[0-9.]+/g).map(Number);
  const groundOf = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const seen = new Map();
  for (const e of document.querySelectorAll('main *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim() !== '');
    if (!own || !e.checkVisibility() || e.closest('svg, .vega-bindings')) continue;
    const pair = [rgb(getComputedStyle(e).color).slice(0, 3), groundOf(e)];
    seen.set(JSON.stringify(pair), [e.localName + '.' + e.className, ...pair]);
  }
  return [...seen.values()];
})()"""


def luminance(color):
    parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class PageReading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bench = workbench.Workbench.of(cls)
        cls.pages = {}
        for suite in (*CELLS.values(), FACTORIAL):
            bench.run_suite(suite)
            cls.pages[suite["name"]] = bench.page(suite["name"], "report", "--suite", suite["name"])
        for name, mean in (("old", 3.2790), ("new", 3.2700), (LONG, 3.2795)):
            bench.write_logs(name, workbench.log_losses(5, mean=mean, seed=len(name)))
        cls.pages["arms"] = bench.page("arms", "compare", "old", "new", LONG)
        cls.pages["claims"] = bench.page("claims", "claims")
        cls.pages["bench"] = bench.page("bench", "bench", "--quiet", "--runs", "2", "sleep 0.3", "true", "sleep 0.1")
        cls.add_other_pages()
        cls.pages["long"] = cls.page_with_long_names()
        chromium.Chromium.for_tests(cls)

    @classmethod
    def add_other_pages(cls):
        """A trainer of one's own, logs, revisions, scales, and what runs measure only when they are asked."""
        bench = cls.bench
        bench.write("own/train.sh", OWN_TRAINER)
        bench.write("own/suite.json", OWN)
        bench.run("run", "own/suite.json", "--quiet")
        cls.pages["external"] = bench.page("external", "report", "--suite", "own")
        cls.pages["audit"] = bench.page("audit", "audit", "old", "new", codes=(0, 1, 3))
        bench.run_weekly(records=["record12", "record17"])
        cls.pages["trend"] = bench.page("trend", "trend", "weekly")
        for scale in ("smoke", "nano"):
            bench.run_suite({**LEAVE_ONE_OUT, "scale": scale})
        cls.pages["transfer"] = bench.page("transfer", "transfer", "--suite", "loo")
        own_runs = {"mock": {**MOCK, "steps": 30}}  # of no other suite
        bench.run_suite({**HISTORY, "name": "asked", "records": ["record12", "record17"], "engine": own_runs})
        bench.add_asked_samples("asked")
        cls.pages["asked"] = bench.page("asked", "report", "--suite", "asked")

    @classmethod
    def page_with_long_names(cls):
        with sqlite3.connect(cls.bench.database) as store:
            for table, column in (("plans", "cells"), ("plans", "contrasts"), ("plan_lines", "cell"), ("runs", "cell")):
                store.execute(f"UPDATE {table} SET {column} = replace({column}, 'rotary', ?)", (LONG,))
        store.close()
        cls.bench.seal()
        return cls.bench.page("long", "report", "--suite", "factorial")

    def show(self, name, **screen):
        self.browser.show(**screen)
        self.browser.open(self.pages[name])
        self.browser.wait("!document.querySelector('figure') || document.body.dataset.drawn == 'yes'")

    def value(self, expression):
        return self.browser.evaluate(expression)

    # --- what is read first ---

    def test_cards_come_first_one_for_each_change(self):
        self.show("standard")
        titles = self.value("[...document.querySelectorAll('.card > strong')].map((e) => e.textContent)")
        self.assertEqual(titles[:6], STANDARD["records"][1:])
        self.assertTrue(
            self.value(
                "document.querySelector('.cards').compareDocumentPosition(document.querySelector('section')) & "
                "Node.DOCUMENT_POSITION_FOLLOWING"
            )
        )
        self.assertEqual(self.value("document.querySelector('figure').dataset.chart"), "effects")
        self.assertTrue(self.value("[...document.querySelectorAll('.card')].every((e) => e.querySelector('p'))"))
        self.show("sixty")
        self.assertLess(self.value("document.querySelectorAll('.card').length"), 8, "many changes have a card a metric")

    def test_records_lead_to_their_source(self):
        self.show("standard")
        links = self.value("[...document.querySelectorAll('#table_rows tbody a')].map((e) => e.href)")
        self.assertEqual(len(links), 7)
        for link in links:
            self.assertRegex(link, r"^https://github\.com/KellerJordan/modded-nanogpt/tree/master/records/")

    def test_what_runs_were_asked_for_is_on_their_page(self):
        self.show("asked")
        tables = self.value("[...document.querySelectorAll('.table')].map((e) => e.id)")
        for part in ("loss_at_position", "loss_by_document_length", "loss_by_token_frequency", "health"):
            self.assertIn(f"table_{part}", tables)
        self.assertTrue(any("toy_task" in table for table in tables), tables)

    def test_claims_have_a_page_of_their_own(self):
        self.show("standard")
        href = self.value("document.querySelector('a[href$=\"_claims.html\"]').getAttribute('href')")
        self.assertEqual(href, "standard_claims.html")
        self.assertIsNone(self.value("document.querySelector('#table_claims')"))
        self.browser.open(self.pages["standard"].with_name(href))
        self.assertGreater(self.value("document.querySelectorAll('#table_claims tbody tr').length"), 20)
        self.assertEqual(self.value("document.querySelector('section a').getAttribute('href')"), "standard.html")

    def test_contents_open_what_is_folded(self):
        self.show("standard")
        link = "[...document.querySelectorAll('nav a')].at(-1)"
        part = f"document.querySelector({link}.getAttribute('href') + ' details.part')"
        self.assertFalse(self.value(part + ".open"))
        self.value(link + ".click()")
        self.browser.wait(part + ".open")

    # --- tables ---

    def test_tables_show_six_columns_and_the_rest_on_request(self):
        shown = "[...document.querySelectorAll('.table')].map((t) => [...t.querySelectorAll('th')].filter((e) => e.checkVisibility()).length)"
        for scripts in (True, False):
            self.browser.show()
            self.browser.call("Emulation.setScriptExecutionDisabled", value=not scripts)
            self.browser.open(self.pages["standard"])
            self.assertLessEqual(max(self.value(shown)), 6)
            x, y = self.value(
                "(() => { const box = document.querySelector('#all_rows'); box.scrollIntoView(); "
                "const at = box.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; })()"
            )
            for kind in ("mousePressed", "mouseReleased"):
                self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
            self.assertGreater(max(self.value(shown)), 6)
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)

    def test_no_column_or_fact_is_empty(self):
        for name in self.pages:
            self.show(name)
            empty = self.value(
                "[...document.querySelectorAll('.table table')].flatMap((table) => [...table.tHead.rows[0].cells].slice(1).filter("
                "(head, i) => [...table.tBodies[0].rows].every((row) => row.cells[i + 1].textContent.trim() === '-')).map((e) => e.textContent))"
            )
            self.assertEqual(empty, [], name)
            self.assertEqual(
                self.value(
                    "[...document.querySelectorAll('dd')].filter((e) => ['', '-'].includes(e.textContent.trim())).length"
                ),
                0,
            )
            self.assertNotIn("`", self.value("document.querySelector('main').innerText"), name)

    def test_a_column_sorts_its_table(self):
        self.show("standard")
        head = "[...document.querySelectorAll('#table_rows th')].find((e) => e.textContent.includes('val loss'))"
        losses = f"[...document.querySelectorAll('#table_rows tbody tr')].map((row) => Number(row.cells[{head}.cellIndex].dataset.key))"
        before = self.value(losses)
        self.value(head + ".querySelector('button').click()")
        self.assertEqual(self.value(losses), sorted(before))
        self.assertEqual(self.value(head + ".getAttribute('aria-sort')"), "ascending")
        self.value(head + ".querySelector('button').click()")
        self.assertEqual(self.value(losses), sorted(before, reverse=True))
        self.assertNotEqual(before, sorted(before))

    # --- curves ---

    PATHS = "document.querySelectorAll('#chart_loss .mark-line path').length"
    LABELS = "[...document.querySelectorAll('#chart_loss .role-axis-label text')].map((e) => e.textContent).join(' ')"

    def press(self, x, y, kind, count=1):
        self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def test_curves_zoom_by_a_drag_and_back_by_a_double_click(self):
        self.show("standard")
        left, top, width, height = self.value(
            "(() => { const svg = document.querySelector('#chart_loss svg.curves'); svg.scrollIntoView(); "
            "const box = svg.getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; })()"
        )
        before = self.value(self.LABELS)
        self.press(left + 0.4 * width, top + 0.3 * height, "mousePressed")
        self.browser.move_mouse(left + 0.5 * width, top + 0.4 * height)
        self.browser.move_mouse(left + 0.6 * width, top + 0.5 * height)
        self.press(left + 0.6 * width, top + 0.5 * height, "mouseReleased")
        self.assertNotEqual(self.value(self.LABELS), before)
        for count in (1, 2):
            self.press(left + 0.5 * width, top + 0.5 * height, "mousePressed", count)
            self.press(left + 0.5 * width, top + 0.5 * height, "mouseReleased", count)
        self.assertEqual(self.value(self.LABELS), before)

    def test_names_hide_and_single_out_curves(self):
        self.show("standard")
        self.assertEqual(self.value(self.PATHS), 7)
        button = "document.querySelectorAll('#chart_loss .names button')[1]"
        self.value(button + ".click()")
        self.assertEqual(self.value(self.PATHS), 6)
        self.assertEqual(self.value(button + ".getAttribute('aria-pressed')"), "false")
        self.value(button + ".click()")
        double = button + ".dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
        self.value(double)
        self.assertEqual(self.value(self.PATHS), 1)
        self.value(double)
        self.assertEqual(self.value(self.PATHS), 7)

    def test_curves_are_grouped_or_one_a_run_and_smoothed(self):
        self.show("standard")
        self.value("document.querySelector('#chart_loss input[value=run]').click()")
        self.assertEqual(self.value(self.PATHS), 21, "seven cells of three seeds")
        self.value("document.querySelector('#chart_loss input[value=cell]').click()")
        self.value("document.querySelector('#chart_loss input[value=all]').click()")
        path = "document.querySelector('#chart_loss .mark-line path').getAttribute('d')"
        before = self.value(path)
        self.value(
            "(() => { const slider = document.querySelector('#chart_loss input[type=range]'); slider.value = 0.9; "
            "slider.dispatchEvent(new Event('input')); })()"
        )
        after = self.value(path)
        self.assertNotEqual(after, before)
        self.assertEqual(after.count("L"), before.count("L"), "smoothing keeps the points")

    def test_a_cell_has_one_colour_in_all_charts(self):
        self.show("standard")
        self.browser.open_parts()
        curves = self.value(
            "[...document.querySelectorAll('#chart_loss .names button')].map((e) => e.querySelector('circle').getAttribute('fill'))"
        )
        self.assertEqual(len(set(curves)), 7)
        self.assertEqual(
            self.value(
                "[...document.querySelectorAll('#chart_memory .mark-rect path')].map((e) => e.getAttribute('fill'))"
            ),
            curves,
        )
        for chart in ("loss_residuals", "order"):
            colors = self.value(
                f"[...new Set([...document.querySelectorAll('#chart_{chart} .mark-symbol.role-mark path')].map((e) => e.getAttribute('fill')))]"
            )
            self.assertLessEqual(set(colors) - {"transparent"}, set(curves), chart)

    # --- every screen, paper and reader ---

    def test_no_page_is_wider_than_its_screen_or_writes_to_the_console(self):
        for name in self.pages:
            for screen in SCREENS:
                with self.subTest(page=name, **screen):
                    self.show(name, **screen)
                    self.browser.open_parts()
                    self.assertLessEqual(self.value("document.documentElement.scrollWidth"), screen.get("width", 1200))
                    self.assertEqual(self.browser.console(), [])
                    self.assertEqual(
                        self.value(
                            "[...document.querySelectorAll('figure')].filter((f) => f.dataset.drawn !== 'yes').length"
                        ),
                        0,
                    )

    def test_text_has_contrast(self):
        for name in ("standard", "factorial", "arms", *OTHERS):
            for scheme in ("light", "dark"):
                self.show(name, scheme=scheme)
                self.browser.open_parts()
                texts = self.value(TEXTS)
                self.assertGreater(len(texts), 3 if name in OTHERS else 5)
                for where, ink, ground in texts:
                    self.assertGreaterEqual(contrast(ink, ground), 4.5, (name, scheme, where, ink, ground))

    def test_everything_to_use_has_a_name(self):
        self.browser.call("Accessibility.enable")
        for name in self.pages:
            self.show(name)
            self.browser.open_parts()
            nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
            roles = {}
            for node in nodes:
                if node.get("ignored"):
                    continue
                role = node.get("role", {}).get("value")
                roles.setdefault(role, []).append(node.get("name", {}).get("value", ""))
            for role in ("button", "link", "checkbox", "radio", "slider", "image", "region", "heading", "columnheader"):
                self.assertTrue(all(text.strip() for text in roles.get(role, [])), (name, role))
            wanted = ("region", "heading", "columnheader")
            if name in ("standard", "arms", "sixty"):
                wanted += ("button", "image", "list")
            for role in wanted:
                self.assertIn(role, roles, name)
        self.browser.call("Accessibility.disable")

    def test_a_page_without_charts_sorts_too(self):
        self.browser.show()
        self.browser.open(self.pages["bench"])
        head = "document.querySelector('#table_commands thead th:nth-child(2)')"
        commands = "[...document.querySelectorAll('#table_commands tbody tr')].map((row) => row.cells[0].textContent)"
        self.assertEqual(self.value("document.querySelectorAll('figure').length"), 0)
        self.assertEqual(self.value(commands), ["sleep 0.3", "true", "sleep 0.1"])
        self.value(head + ".querySelector('button').click()")
        self.assertEqual(self.value(commands), ["true", "sleep 0.1", "sleep 0.3"])
        self.assertEqual(self.browser.problems(), [])

    def printed_pages(self):
        return len(re.findall(rb"/Type\s*/Page\b", self.browser.pdf()))

    def in_print(self, *scripts):
        """Their values on paper."""
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        values = [self.value(script) for script in scripts]
        self.browser.call("Emulation.setEmulatedMedia", media="")
        return values

    def test_suites_print_on_four_pages(self):
        self.show("sixty")
        self.assertLessEqual(self.printed_pages(), 4)
        rows, folded, shown = self.in_print(
            "[...document.querySelectorAll('.table .tall tbody')].filter((e) => e.checkVisibility())"
            ".map((e) => [...e.rows].filter((r) => r.checkVisibility()).length)",
            "[...document.querySelectorAll('.table .tall, #chart_speed')].filter((e) => e.checkVisibility())"
            ".map((e) => getComputedStyle(e, '::after').content)",
            "['effects', 'loss'].every((id) => document.querySelector(`#chart_${id} .plot svg`).checkVisibility())",
        )
        self.assertTrue(shown)
        self.assertEqual(len(rows), len([e for e in rows if e < 20]), "tables are cut")
        self.assertGreater(rows[0], 10, "not to nothing")
        self.assertGreater(len(folded), 2)
        for text in folded:
            self.assertIn("screen", text, "what is left out is said")
        self.show("standard")
        self.assertLessEqual(self.printed_pages(), 4)
        hidden, charts = self.in_print(
            "[...document.querySelectorAll('nav, .background, .controls')].every((e) => !e.checkVisibility())",
            "['effects', 'speed', 'loss'].every((id) => document.querySelector(`#chart_${id} .plot svg`).checkVisibility())",
        )
        self.assertTrue(hidden and charts)

    def test_without_scripts_the_main_charts_are_pictures(self):
        self.browser.show()
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.browser.open(self.pages["standard"])
        marks = self.value(
            "['effects', 'loss'].map((id) => document.querySelectorAll(`#chart_${id} .still circle, #chart_${id} .still .curve`).length)"
        )
        boxes = self.value("[...document.querySelectorAll('.still')].map((e) => e.getBoundingClientRect().height)")
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        self.assertGreaterEqual(marks[0], 12, "an effect on loss and time for each of six changes")
        self.assertEqual(marks[1], 14, "seven curves and seven names")
        self.assertTrue(all(height > 100 for height in boxes), boxes)


if __name__ == "__main__":
    chromium.main()
