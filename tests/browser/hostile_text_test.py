"""Hostile texts in every column of a database, in names and lines of logs: no page runs, loads or shows anything of them,
and no other form passes them on to what reads it next.

    NANOBENCH=build/release/bin/nanobench python3 tests/browser/hostile_text_test.py
"""

import csv
import html.parser
import io
import json
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

import chromium
import hostile  # beside the workbench
from chromium import workbench

PAGE_TAGS = set(
    "html head meta title style script body main section h1 h2 h3 p dl dt dd ul li details summary div table thead "
    "tbody tr th td small figure figcaption button input form label span strong nav a code".split()
)
CHART_TAGS = set(
    "svg g path line text rect circle defs clippath lineargradient radialgradient stop canvas tspan".split()
)
# Bells, escapes, eight-bit controls, line separators, marks that turn text round.
NOT_FOR_TERMINALS = set(
    map(
        chr,
        [
            *range(0x20),
            *range(0x7F, 0xA0),
            0x2028,
            0x2029,
            0x200E,
            0x200F,
            0x061C,
            *range(0x202A, 0x202F),
            *range(0x2066, 0x206A),
        ],
    )
) - {"\n"}
SOURCE = r"https://github\.com/KellerJordan/modded-nanogpt/tree/master/records/[A-Za-z0-9_./-]+"
MARKDOWN_TAGS = set("h1 h2 h3 p ul li strong details summary table thead tbody tr th td br blockquote code a".split())


class MarkdownTags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.rows, self.text, self.links = set(), [], "", []

    def handle_starttag(self, tag, attributes):
        self.found.add(tag)
        if tag == "tr":
            self.rows.append(0)
        elif tag in ("td", "th"):
            self.rows[-1] += 1
        elif tag == "a":
            self.links.append(dict(attributes)["href"])
        self.attributes = attributes

    def handle_data(self, data):
        self.text += data


class HostileText(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bench = workbench.Workbench.of(cls)
        bench.fill(text="A text.", title="A title")
        bench.run("baseline", "save", "main", "--suite", "history")
        cls.write_logs()
        bench.run("import", "logs")
        shutil.copy(bench.database, bench.folder / "known_names.db")
        cls.poisoned = hostile.poison(bench.database)
        hostile.poison(
            bench.folder / "known_names.db",
            kept=(
                "suite",
                "cell",
                "digest",
                "config_digest",
                "name",
                "config",
                "data_digest",
                "dtype",
                "hardware",
                "engine_version",
            ),
        )
        cls.documents = cls.all_documents()
        chromium.Chromium.for_tests(cls)

    @classmethod
    def write_logs(cls):
        losses = iter(workbench.log_losses(4 * len(hostile.ATTACKS)))
        for number, attack in enumerate(hostile.ATTACKS):
            name = attack.replace("/", "∕").replace("\0", "").strip("\n")[:80] or "empty"
            lines = workbench.LOG_LINES.format(curve=1000 + number, loss=next(losses), time=300 + number)
            head = f"import torch # {attack}\n{'=' * 100}\nRunning on device_name={attack} with world_size=8\n"
            for where in (f"logs/2025-01-01_{name}/{name}.txt", f"logs/2025-01-02_Records/{name}/{number}.txt"):
                file = cls.bench.folder / where
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes((head + f"step:1/3 {attack}\n" + lines + attack).encode() + b"\xff\xfe")

    @classmethod
    def all_documents(cls):
        """(name, arguments, accepted exit codes) of what can be asked for in any form."""
        suite = hostile.hostile("weekly").replace("\0", "")
        plans = [(f"plan{number}", ["report", "--plan", str(number)], (0,)) for number in range(1, 5)]
        return [
            *plans,
            ("trend", ["trend", suite], (0,)),
            ("transfer", ["transfer"], (0, 3)),
            ("compare", ["compare", "plan:1", "plan:1"], (0,)),
            ("audit", ["audit", "logs", "--runs"], (1, 3)),
            ("logs", ["report", "--suite", "speedrun_logs", "--db", "known_names.db"], (0, 2)),
            ("known", ["report", "--suite", "history", "--db", "known_names.db"], (0,)),
            ("known_transfer", ["transfer", "--db", "known_names.db"], (0, 3)),
            ("known_trend", ["trend", "weekly", "--db", "known_names.db"], (0,)),
        ]

    def test_every_text_column_is_poisoned(self):
        import sqlite3

        store = sqlite3.connect(self.bench.database)
        columns = set(hostile.text_columns(store))
        self.assertEqual(columns - set(self.poisoned), hostile.WORDS)
        store.text_factory = bytes
        for table, column in self.poisoned:
            texts = [text for (text,) in store.execute(f"SELECT {column} FROM {table}") if text]
            if texts:
                self.assertTrue(any(b"hacked" in text for text in texts), (table, column))
        store.close()

    def test_pages_do_nothing(self):
        pages = []
        for name, arguments, codes in self.documents:
            self.bench.run(*arguments, "--out", f"{name}.html", codes=codes)
            if (self.bench.folder / f"{name}.html").exists():
                pages.append(self.bench.folder / f"{name}.html")
        self.assertGreaterEqual(len(pages), 8)
        for page in pages:
            with self.subTest(page=page.stem):
                self.browser.show()
                self.browser.open(page)
                self.browser.wait("!document.querySelector('figure') || document.body.dataset.drawn == 'yes'")
                self.browser.open_parts()
                saved = self.use_everything()
                self.assert_harmless(page)
                self.assertEqual(bool(saved), bool(self.browser.evaluate("document.querySelector('figure') !== null")))
                for text in saved:
                    self.assert_plain_csv(text)

    def use_everything(self):
        """Opens, hovers over, focuses and presses all that there is. Returns the CSV that was to be saved."""
        self.browser.evaluate("""(() => {
            window.saved = [];
            URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };
            for (const details of document.querySelectorAll('details')) details.open = true;
            for (const button of document.querySelectorAll('button')) button.click();
            for (const input of document.querySelectorAll('input')) { input.focus(); input.click(); }
            for (const link of document.querySelectorAll('a')) link.addEventListener('click', (event) => event.preventDefault());
            for (const element of [...document.querySelectorAll('main *')].slice(0, 20000))
                for (const kind of ['mouseover', 'mousemove', 'focus', 'click'])
                    element.dispatchEvent(new MouseEvent(kind, {bubbles: kind !== 'focus', clientX: 300, clientY: 300}));
        })()""")
        self.browser.evaluate("new Promise((done) => setTimeout(done, 300))")
        return self.browser.evaluate(
            "Promise.all(saved.filter((blob) => blob.type == 'text/csv').map((blob) => blob.text()))"
        )

    def assert_harmless(self, page):
        self.assertEqual(self.browser.problems(), [])
        self.assertEqual(self.browser.of("Page.javascriptDialogOpening"), [])
        asked = {url.split("#")[0] for url in self.browser.requests() if not url.startswith("data:")}
        self.assertEqual(asked, {"file://" + str(page)})
        self.assertIsNone(self.browser.evaluate("window.hacked ?? null"))
        self.assertEqual(
            self.browser.evaluate(
                "[...document.querySelectorAll('figure')].filter((f) => f.dataset.drawn != 'yes').length"
            ),
            0,
        )
        tags = set(
            self.browser.evaluate(
                "[...new Set([...document.querySelectorAll('*')].map((e) => e.localName.toLowerCase()))]"
            )
        )
        self.assertLessEqual(tags, PAGE_TAGS | CHART_TAGS)
        odd = self.browser.evaluate("""[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes].map((a) => [e.localName,
            a.name, a.value])).filter(([tag, name, value]) => name.startsWith('on') || ['srcdoc', 'src', 'href', 'xlink:href',
            'formaction', 'action', 'autofocus', 'background'].includes(name))""")
        ours = re.compile(r"#section_[0-9]+|" + SOURCE + "|" + re.escape(f"{page.stem}_claims.html"))
        odd = [one for one in odd if not (one[:2] == ["a", "href"] and ours.fullmatch(one[2]))]
        self.assertEqual(odd, [])
        scripts, has_charts = self.browser.evaluate(
            "[document.querySelectorAll('script:not([type])').length, typeof vega !== 'undefined']"
        )
        self.assertIn(scripts, (2,) if has_charts else (0, 1))  # charts, and the sorting of tables
        self.assertTrue(self.browser.evaluate("getComputedStyle(document.querySelector('h1')).display != 'none'"))
        self.assertEqual(
            self.browser.evaluate("document.documentElement.innerHTML.match(/[\\u202a-\\u202e\\u2066-\\u2069]/)"), None
        )

    def assert_plain_csv(self, text):
        self.assertFalse(set(text) & (set(map(chr, range(0x20))) - set("\t\r\n")))
        rows = list(csv.reader(io.StringIO(text, newline="")))
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        for field in (field for row in rows for field in row):
            if field[:1] in "=+-@\t\r" and field:
                float(field)

    def test_tables_for_the_terminal_and_sentences(self):
        others = [
            ["list", "runs"],
            ["show", "1"],
            ["show", "7"],
            ["baseline", "list"],
            ["db", "check", "results.db"],
            ["gate", "history.json", "--stored", "--baseline", "main", "--db", "known_names.db"],
        ]
        for arguments in [*(arguments for _, arguments, _ in self.documents), *others]:
            with self.subTest(arguments=[argument[:30] for argument in arguments]):
                text = self.bench.run(*arguments, codes=(0, 1, 3)).decode()
                self.assertEqual(set(text) & NOT_FOR_TERMINALS, set())

    def test_refusals_are_harmless(self):
        wrong = hostile.hostile("wrong").replace("\0", "")
        for arguments in (
            ["report", "--suite", wrong],
            ["show", wrong],
            ["trend", wrong],
            ["transfer", "--suite", wrong],
            ["transfer", "--with", wrong],
            ["compare", wrong, wrong],
            ["plan", wrong],
            ["audit", wrong],
            ["list", wrong],
            [wrong],
            ["--" + wrong],
            ["diff", "1", "30"],
            ["report", "--db", wrong],
            ["report", "--format", wrong],
            ["report", "--out", wrong],
        ):
            done = subprocess.run(
                [workbench.PROGRAM, *arguments], cwd=self.bench.folder, env=self.bench.environment, capture_output=True
            )
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(set(done.stderr.decode()) & NOT_FOR_TERMINALS, set(), arguments)

    @unittest.skipUnless(shutil.which("cmark-gfm"), "cmark-gfm is not here")
    def test_markdown(self):
        for name, arguments, codes in self.documents:
            with self.subTest(name=name):
                text = self.bench.run(*arguments, "--format", "md", codes=codes).decode()
                self.assert_plain_markdown(text)
        self.bench.run(
            "gate",
            "history.json",
            "--stored",
            "--baseline",
            "main",
            "--db",
            "known_names.db",
            "--markdown",
            "gate.md",
            "--junit",
            "gate.xml",
            codes=(0, 1, 3, 4, 5),
        )
        marker, text = (self.bench.folder / "gate.md").read_text().split("\n", 1)
        self.assertTrue(marker.startswith("<!--"))
        self.assert_plain_markdown(text)
        xml.etree.ElementTree.parse(self.bench.folder / "gate.xml")

    def assert_plain_markdown(self, text):
        self.assertEqual(set(text) & NOT_FOR_TERMINALS, set())
        rendered = subprocess.run(
            ["cmark-gfm", "--unsafe", *("-e table -e strikethrough -e tasklist".split())],
            input=text.encode(),
            capture_output=True,
        ).stdout
        page = MarkdownTags()
        page.feed(rendered.decode())
        self.assertLessEqual(page.found, MARKDOWN_TAGS)
        self.assertTrue(all(re.fullmatch(SOURCE, address) for address in page.links), page.links)
        self.assertNotRegex(page.text, r"@\w", "somebody would be told")
        self.assertNotRegex(page.text, r"#\d", "a thread would be linked")

    def test_csv(self):
        for name, arguments, codes in self.documents:
            with self.subTest(name=name):
                self.assert_plain_csv(self.bench.run(*arguments, "--format", "csv", codes=codes).decode())
        self.assert_plain_csv(self.bench.run("export").decode())

    def test_json(self):
        for name, arguments, codes in self.documents:
            with self.subTest(name=name):
                text = self.bench.run(*arguments, "--format", "json", codes=codes).decode()
                json.loads(text)
                self.assertEqual({c for c in text if c < " "}, {"\n"})

    def test_commands_to_copy_are_one_command_each(self):
        done = json.loads(self.bench.run("report", "--plan", "2", "--json"))
        commands = [done["facts"]["command"], *(row["command"] for row in done["tables"]["reproduce"])]
        self.assertGreaterEqual(len(commands), 4)
        for command in (command.replace("\0", "") for command in commands):
            words = subprocess.run(
                ["bash", "-c", "printf '%s\\0' " + command], cwd=self.bench.folder, capture_output=True
            )
            self.assertEqual(words.stderr, b"")
        self.assertFalse((self.bench.folder / "hacked").exists())


if __name__ == "__main__":
    chromium.main()
