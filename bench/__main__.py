"""
`python -m bench`: play the rounds, keep the raw figures, write the table and the charts.

Exit 0: measured. Exit 1: nothing could be measured. Exit 2: wrong use.
"""

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.catalogue import CONTENDERS
from bench.workloads import ELSEWHERE, WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"


def _codes(text: str) -> list[str]:
    codes = [part.strip().upper() for part in text.split(",") if part.strip()]
    for code in codes:
        if code in ELSEWHERE:
            raise argparse.ArgumentTypeError(f"{code} is a script of its own: {ELSEWHERE[code]}")
        if code not in WORKLOADS:
            raise argparse.ArgumentTypeError(f"there is no workload {code}; there are {', '.join(WORKLOADS)}")
    if not codes:
        raise argparse.ArgumentTypeError("name at least one workload")
    return codes


def _names(text: str) -> list[str]:
    """Contenders by name, by the start of their name, or by group; separated by semicolons or commas."""
    chosen: list[str] = []
    known = {name.lower(): name for name in CONTENDERS}
    groups = {"floors": "floor", "ours": "ours", "peers": "peer"}
    for part in (part.strip().lower() for part in text.replace(";", ",").split(",")):
        if part in groups:
            chosen += [name for name, entrant in CONTENDERS.items() if entrant.group == groups[part]]
        elif part in known:
            chosen.append(known[part])
        elif matching := [name for low, name in known.items() if part and low.startswith(part)]:
            chosen += matching
        else:
            raise argparse.ArgumentTypeError(
                f"there is no contender {part!r}; there are {'; '.join(CONTENDERS)}, and the groups floors, ours, peers"
            )
    return list(dict.fromkeys(chosen))


def _rounds(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rounds; 3 or more make a result")
    return int(text)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="The same durable work by us, the floors and the peers."
    )
    parser.add_argument("--only", type=_codes, default=list(WORKLOADS), metavar="W1,W2", help="workloads; default: all")
    parser.add_argument(
        "--contenders",
        type=_names,
        default=list(CONTENDERS),
        metavar="A,B",
        help="names or floors, ours, peers; default: all",
    )
    parser.add_argument("--rounds", type=_rounds, default=3, help="interleaved rounds; default: 3")
    parser.add_argument("--scale", choices=("small", "full"), default="small", help="small: minutes; full: hours")
    parser.add_argument("--publish", action="store_true", help="write docs/performance.md; only from 3 rounds or more")
    arguments = parser.parse_args(given)
    if arguments.publish and arguments.rounds < 3:
        parser.error("--publish needs at least 3 rounds; fewer are no result")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and workers are ended on the way out
    from bench import chart, record, report, rounds
    from bench.server import Server

    try:
        server = Server.started()
        settings = server.settings()
    except (ValueError, ImportError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except Exception as error:  # psycopg's errors: the server can't be reached
        print(f"bench: no PostgreSQL to measure on: {str(error).strip()}", file=sys.stderr)
        return 2

    folder = OUT / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder.mkdir(parents=True, exist_ok=True)
    flush, busy = record.flush_microseconds(), record.neighbours()
    if busy > 1:
        print(
            f"bench: the machine is busy with something else (load {busy:.1f}); no figure of this run is a result.",
            file=sys.stderr,
        )
        if arguments.publish:
            return 2

    def kept(results: rounds.Results) -> dict[str, Any]:
        made = record.record(
            results, server=settings, rounds=arguments.rounds, scale=arguments.scale, flush=flush, neighbours=busy
        )
        (folder / "results.json").write_text(json.dumps(made, indent=1))
        return made

    results = rounds.play(
        server,
        workloads=arguments.only,
        contenders=arguments.contenders,
        rounds=arguments.rounds,
        scale=arguments.scale,
        folder=folder,
        say=lambda line: print(line, file=sys.stderr, flush=True),
        keep=kept,
    )
    final = kept(results)
    text = report.markdown(final)
    (folder / "table.md").write_text(text)
    charts = {f"{code.lower()}.svg": chart.svg(final, code, WORKLOADS[code].metrics[0].name) for code in arguments.only}
    for name, drawing in charts.items():
        if drawing:
            (folder / name).write_text(drawing)
    if arguments.publish:
        from bench.publish import publish

        publish(ROOT / "docs", text, charts)
    print(text)
    print(f"Kept in {folder.relative_to(ROOT)}", file=sys.stderr)
    return 0 if results.figures else 1


if __name__ == "__main__":
    sys.exit(main())
