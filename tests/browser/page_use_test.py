"""Using a page: by keyboard, filter, download and printer; audit and trend pages as the report's.

NANOBENCH=build/release/bin/nanobench python3 tests/browser/page_use_test.py
"""

import unittest

import chromium
from chromium import workbench


class PageUse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bench = workbench.Workbench.of(cls)
        bench.run_suite(workbench.HISTORY)
        bench.run_weekly(records=["record12", "record17"])
        bench.write_logs(
            "2024-10-18_PyTorch25", workbench.log_losses(5)
        )  # names of records: published figures beside them
        bench.write_logs("2024-11-10_CastBf16", workbench.log_losses(4, mean=3.29))
        bench.page("report", "report", "--suite", "history")
        bench.page("trend", "trend", "weekly")
        bench.page("claims", "claims")
        bench.page("audit", "audit", "2024-10-18_PyTorch25", "2024-11-10_CastBf16", codes=(1,))
        chromium.Chromium.for_tests(cls)

    def show(self, name):
        page = self.bench.folder / f"{name}.html"
        self.browser.show()
        self.browser.open(page)
        self.browser.wait("document.body.dataset.drawn == 'yes'")
        return page

    def test_every_page_is_whole_and_alone(self):
        wanted = {
            "report": ["effects", "speed", "loss", "phases", "memory", "order", "loss_residuals", "time_residuals"],
            "audit": ["losses", "times"],
            "trend": [f"trend_{number}" for number in range(1, 7)],
        }
        for name, charts in wanted.items():
            with self.subTest(page=name):
                page = self.show(name)
                self.browser.open_parts()
                self.assertEqual(self.browser.problems(), [])
                self.assertEqual(
                    [url for url in self.browser.requests() if not url.startswith("data:")], ["file://" + str(page)]
                )
                drawn = self.browser.evaluate(
                    "[...document.querySelectorAll('figure')].map((f) => [f.dataset.chart, "
                    "f.dataset.drawn, f.querySelector('svg, canvas').getAttribute('role'), "
                    "f.querySelector('svg, canvas').getAttribute('aria-label').length > 20])"
                )
                self.assertEqual(drawn, [[chart, "yes", "img", True] for chart in charts])

    def test_all_runs_of_a_chart_can_be_saved(self):
        self.show("report")
        text = self.browser.evaluate("""(async () => {
            let blob = null;
            URL.createObjectURL = (saved) => { blob = saved; return '#'; };
            [...document.querySelectorAll('#chart_loss button')].find((b) => b.textContent == 'All runs as CSV').click();
            return blob.text();
        })()""")
        lines = text.split("\r\n")
        self.assertEqual(lines[0], "cell,seed,step,loss,seconds")
        runs = {tuple(line.split(",")[:2]) for line in lines[1:-1]}
        self.assertEqual(len(runs), 12)
        self.assertEqual(len(lines) - 2, 12 * 21)  # validations at steps 0, 2, ... 40

    def test_the_keyboard_reaches_everything_in_order(self):
        self.show("report")
        wanted = self.browser.evaluate(
            "[...document.querySelectorAll('button')].filter((e) => e.checkVisibility()).length"
        )
        seen = []
        for _ in range(200):
            for kind in ("keyDown", "keyUp"):
                self.browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            where = self.browser.evaluate(
                "(() => { const e = document.activeElement; const style = getComputedStyle(e); "
                "return [e.localName, e.getBoundingClientRect().top + scrollY, style.outlineStyle]; })()"
            )
            if where[0] == "body":
                break
            self.assertNotEqual(where[2], "none", where)
            seen.append(where)
        self.assertEqual(sum(name == "button" for name, _, _ in seen), wanted)
        tops = [top for name, top, _ in seen if name == "button"]
        self.assertEqual(tops, sorted(tops))

    def test_a_long_table_scrolls_under_its_header(self):
        self.browser.show()
        self.browser.open(self.bench.folder / "claims.html")
        places = """(() => { const frame = document.querySelector('.tall'); frame.scrollTop = 900;
            const top = (e) => e.getBoundingClientRect().top;
            const under = document.elementFromPoint(frame.getBoundingClientRect().left + 20, top(frame) + 10);
            return [frame.clientHeight, frame.scrollTop, top(frame.querySelector('th')) - top(frame), under.closest('th,td').localName]; })()"""
        height, scrolled, header, under = self.browser.evaluate(places)
        self.assertLessEqual(height, 640)
        self.assertEqual((scrolled, under), (900, "th"))
        self.assertLess(abs(header), 2)
        low = self.browser.evaluate(
            "[...document.querySelectorAll('.scroll:not(.tall)')].map((e) => e.querySelectorAll('tr').length)"
        )
        self.assertTrue(low and max(low) <= 31, low)
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        printed = self.browser.evaluate(
            "document.querySelector('.tall').clientHeight - document.querySelector('.tall table').offsetHeight"
        )
        self.browser.call("Emulation.setEmulatedMedia", media="")
        self.assertLess(abs(printed), 2)

    def test_print_leaves_out_what_needs_a_screen(self):
        self.show("trend")
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        hidden = self.browser.evaluate(
            "[...document.querySelectorAll('.actions, .filter')].every((e) => !e.checkVisibility())"
        )
        charts = self.browser.evaluate("[...document.querySelectorAll('.plot')].every((e) => e.checkVisibility())")
        self.browser.call("Emulation.setEmulatedMedia", media="")
        self.assertTrue(hidden and charts)
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))


if __name__ == "__main__":
    chromium.main()
