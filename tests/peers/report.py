"""The text that a comparison prints."""


def _table(rows):
    """Right-aligned columns under their headings."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]


def _cell(result, key, form):
    value = result.get(key)
    return "-" if value is None else format(value, form)


def _load_cell(load):
    return "-" if load is None else f"{load['load_1min']:.2f}"


def _percent(share):
    return "-" if share is None else f"{100 * share:.0f} %"


def _rows(result, columns):
    heading = ["pair", "first"]
    for title, _, _ in columns:
        heading += [f"{title} A", f"{title} B"]
    rows = [[*heading, "A/B", "load", "others A", "others B"]]
    for index, pair in enumerate(result["pairs"], start=1):
        row = [str(index), "A" if pair["order"][0] == "ours" else "B"]
        for _, key, form in columns:
            row += [_cell(pair[side], key, form) for side in ("ours", "peer")]
        others = [_percent(pair[side].get("others_share")) for side in ("ours", "peer")]
        rows.append([*row, f"{pair['ratio']:.3f}", _load_cell(pair["load_before"]), *others])
    return rows


def ratio_line(ratio):
    head = f"A/B, {ratio['meaning']}: median {ratio['median']:.3f}"
    if ratio["spread"] is None:
        return f"{head} (one pair: no spread; ask for --pairs 5)"
    spread = f"spread {100 * ratio['spread']:.1f} % of the median"
    return f"{head}, min {ratio['min']:.3f}, max {ratio['max']:.3f}, {spread}, {ratio['n']} pairs"


def _loss_check_lines(check):
    if check is None:
        return []
    steps, largest, tolerance = len(check["ours"]), check["largest_difference"], check["tolerance"]
    return [f"losses from the same weights, {steps} steps: largest difference {largest:.2g} (allowed: {tolerance:.0e})"]


def gpu_of(result):
    """The name of the GPU that our side's runs say they used; None on the processors."""
    ours = result["pairs"][0]["ours"] if result["pairs"] else {}
    return ours.get("hello", {}).get("environment", {}).get("gpu")


def text(result, comparison):
    facts, git = result["machine"], result["git"]
    flags = ", ".join(flag for flag, is_present in facts["flags"].items() if is_present) or "no vector flags"
    shape = ", ".join(f"{name} {value}" for name, value in result["shape"].items())
    revision = "unknown" if git is None else git["revision"][:12] + (" with changes" if git["is_dirty"] else "")
    lines = [
        f"A: {result['sides']['ours']}   B: {result['sides']['peer']}",
        f"shape: {shape}",
        f"machine: {facts['cpu']}, {facts['cores']} cores ({flags}){', virtual' if facts['is_virtual'] else ''}"
        + (f"; {gpu_of(result)}" if gpu_of(result) else ""),
        "versions: " + "; ".join(f"{name} {value}" for name, value in result["versions"].items()) + f"; git {revision}",
        "",
        *_table(_rows(result, comparison.columns)),
        "",
        ratio_line(result["ratio"]),
        *_loss_check_lines(result["extras"].get("loss_check")),
        "load: the machine's before the pair; others: share of its cores that ran something else meanwhile",
    ]
    return "\n".join(lines)
