"""What the admin pages have taken, as the page of figures shows it."""

import statistics

__all__ = ["BOUNDS", "late", "table"]

BOUNDS = {"overview": 1000, "list": 500}  # milliseconds


def late(found: list[dict]) -> list[dict]:
    """Those that took longer than their bound."""
    return [one for one in found if one["median"] > BOUNDS[one["kind"]]]


def table(record: dict) -> str:
    """What was found, as Markdown: a line for each kind of page, and one for each page that missed its bound."""
    rows = f"{record['rows']:,}".replace(",", " ")
    lines = [
        f"Each page of the operator's desk with {rows} account deletions and as many messages, nearly all settled, an old",
        "outage under them; median of five.",
        "",
        "| pages | how many | bound | median | slowest | which | most queries |",
        "|---|--:|--:|--:|--:|---|--:|",
    ]
    for kind, bound in BOUNDS.items():
        of = [one for one in record["pages"] if one["kind"] == kind]
        slowest = max(of, key=lambda one: one["median"])
        lines.append(
            f"| {kind} | {len(of)} | {bound} ms | {statistics.median(one['median'] for one in of):.0f} ms "
            f"| {slowest['median']:.0f} ms | `{slowest['page']}` | {max(one['queries'] for one in of)} |"
        )
    missed = [f"`{one['page']}` {one['median']:.0f} ms" for one in late(record["pages"])]
    return "\n".join([*lines, "", f"Beyond the bound: {', '.join(missed) or 'none'}. {record['machine']}."])
