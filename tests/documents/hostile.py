"""Texts that attack whoever shows them, and a way to put them into every text of a database."""

import json
import sqlite3
import zlib

ATTACKS = [
    # HTML
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "</title><script>window.hacked = 1</script>",
    "</style><style>* { display: none !important; background: url(https://evil.example/a) }</style>",
    "<img src=x onerror='window.hacked = 1'>",
    '"><svg onload="window.hacked = 1">',
    "' onmouseover='window.hacked = 1' autofocus onfocus='window.hacked = 1' x='",
    '<a href="javascript:window.hacked = 1">a link</a>',
    "javascript:window.hacked = 1",
    "data:text/html,<script>window.hacked = 1</script>",
    "<!--<script>window.hacked = 1</script>",
    "--><iframe srcdoc='<script>parent.hacked = 1</script>'></iframe>",
    "]]><b>bold</b><![CDATA[",
    "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/a.css><object data=https://evil.example/o></object>",
    "<form action=https://evil.example/><input name=a><button>b</button></form>",
    "&lt;script&gt;window.hacked = 1&lt;/script&gt; &#60;img src=x onerror=window.hacked=1&#62;",
    # CSS
    "red; } * { display: none } body { background: url(https://evil.example/b)",
    "expression(window.hacked = 1)",
    # templates and Vega's expressions
    "{{constructor.constructor('window.hacked = 1')()}}",
    "${window.hacked = 1}",
    "datum['constructor']['constructor']('window.hacked = 1')()",
    "'] + (window.hacked = 1) + datum['",
    '"+alert(1)+"',
    '\\"; window.hacked = 1; //',
    "__proto__",
    # characters
    "line\u2028and\u2029paragraph",
    "\u202eright to left\u2066 isolate\u200f mark",
    "\ufeff\ufffe\uffff\U0010ffff",
    "nul\u0000 del\u007f c1\u009b31m",
    "\u001b[31mred\u001b[0m\u001b]0;title\u0007\u001b[2J",
    "line\nbreak\r\nand\ttab",
    # Markdown
    "| a | b |\n|---|---|\n| c | d |",
    "# heading",
    "~~~",
    "```sh",
    "`code` **bold** _em_ ~~gone~~",
    "[x](javascript:window.hacked) ![y](https://evil.example/y.png) <https://evil.example/>",
    "[ref]: https://evil.example/ 'title'",
    "@octocat @org/team #1 user@evil.example",
    "- [ ] task\n1. one\n> quote",
    # spreadsheets, shells, workflow commands
    "=cmd|' /C calc'!A0",
    "+1+cmd|'x'!A0",
    "-2+3+cmd|'x'!A0",
    "@SUM(1+1)*cmd|'x'!A0",
    "\t=1+1",
    "$(touch hacked) `touch hacked`; touch hacked & touch hacked | touch hacked",
    "'; touch hacked; '",
    "::error file=a::b%0A::stop-commands::x",
    "%s %n {0} %(x)s",
]

# Columns whose words the program itself writes and reads. Hostile texts for them get rows of their own.
WORDS = {
    ("runs", "outcome"),
    ("runs", "started_at"),
    ("runs", "finished_at"),
    ("runs", "heartbeat_at"),
    ("environments", "created_at"),
    ("plans", "created_at"),
    ("baselines", "created_at"),
    ("plans", "design"),
    ("plans", "sequential"),
    ("samples", "metric"),
    ("run_facts", "name"),
    ("runs", "engine"),
    ("runs", "kernels"),
    ("runs", "device"),
}
# The same in columns of JSON: keys whose values are such words.
WORDS_IN_JSON = {"kind"}
KEYS_THAT_ARE_DATA = {("environments", "facts"), ("plans", "contrasts")}  # "facts", "coefficients" by cell
FACTS_THAT_ARE_READ = ("git_revision", "git_dirty")


def hostile(text):
    """The text after all attacks, one a line. The text alone decides which attack comes first, so equal texts stay equal."""
    first = zlib.crc32(text.encode(errors="surrogateescape")) % len(ATTACKS)
    return "\n".join([*ATTACKS[first:], *ATTACKS[:first], text])


def hostile_bytes(text):
    """The text with bytes that are not UTF-8."""
    return hostile(text).encode() + b" \xff\xc3\x28\xed\xa0\x80 " + text.encode()


def hostile_json(value, names, change=hostile):
    """Every string in it, and the keys that are `names`."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [hostile_json(item, names, change) for item in value]
    if isinstance(value, dict):
        return {
            change(key) if key in names else key: item if key in WORDS_IN_JSON else hostile_json(item, names, change)
            for key, item in value.items()
        }
    return value


def behind_one(text):
    """For very frequent texts."""
    return ATTACKS[zlib.crc32(text.encode()) % len(ATTACKS)] + text


def text_columns(store):
    tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return [
        (table, row[1]) for table in tables for row in store.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT"
    ]


def is_json(texts):
    def parses(text):
        try:
            return isinstance(json.loads(text), (dict, list))
        except ValueError:
            return False

    return bool(texts) and all(map(parses, texts))


def poison(database, kept=()):
    """Every text column of every table, but WORDS and `kept`, which are (table, column) or a column's name. Equal texts
    stay equal, so that rows still belong together. Suites, which a command line names, have no NUL and are UTF-8."""
    with sqlite3.connect(database) as store:
        columns = text_columns(store)
        names = {label for (label,) in store.execute("SELECT DISTINCT cell FROM plan_lines")} - {None}
        poisoned = []
        for table, column in columns:
            if (table, column) in WORDS or (table, column) in kept or column in kept:
                continue
            texts = [text for (text,) in store.execute(f"SELECT DISTINCT {column} FROM {table}") if text is not None]
            holds_json = is_json(texts)
            for text in texts:
                if holds_json:
                    value = json.loads(text)
                    keys = names if "cell" not in kept else set()
                    if (table, column) == ("environments", "facts"):
                        new = {
                            key: item if key in FACTS_THAT_ARE_READ else hostile(item) for key, item in value.items()
                        }
                        new.update({attack: attack for attack in ATTACKS})
                    elif (table, column) == ("runs", "mock"):  # numbers only
                        new = {**value, "note": hostile("note")}
                    elif (table, column) == ("plans", "cells") and "cell" in kept:
                        new = [{**hostile_json(cell, keys), "label": cell["label"]} for cell in value]
                    else:
                        new = hostile_json(value, keys, behind_one if column == "config" else hostile)
                    new = json.dumps(new).encode()
                elif column == "suite":
                    new = hostile(text).replace("\0", "").encode()
                else:
                    new = hostile_bytes(text)
                store.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE {column} = ?", (new, text))
            poisoned.append((table, column))
        (run,) = store.execute("SELECT min(id) FROM runs").fetchone()
        for attack in ATTACKS:
            store.execute("INSERT OR IGNORE INTO samples VALUES (?, ?, 1, 1.0)", (run, f"phase/{attack}_ms"))
            store.execute("INSERT OR IGNORE INTO samples VALUES (?, ?, 1, 1.0)", (run, attack))
            store.execute("INSERT OR IGNORE INTO run_facts VALUES (?, ?, ?)", (run, attack, attack))
            store.execute("INSERT INTO messages (run_id, kind, text) VALUES (?, ?, ?)", (run, "warning", attack))
    store.close()
    return poisoned
