"""
`python -m bench`: play the rounds, keep the raw figures, write the table and the charts.

Exit 0: measured. Exit 1: nothing could be measured. Exit 2: wrong use.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.catalogue import CONTENDERS
from bench.publish import ROUNDS, publish_fit, written
from bench.quiet import QUIET, load_at_rest
from bench.workloads import ELSEWHERE, WORKLOADS

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"


def _code(text: str) -> str:
    code = text.upper()
    if code in ELSEWHERE:
        raise argparse.ArgumentTypeError(f"{code} is a script of its own: {ELSEWHERE[code]}")
    if code not in WORKLOADS:
        raise argparse.ArgumentTypeError(f"there is no workload {code}; there are {', '.join(WORKLOADS)}")
    return code


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
    parser.add_argument("workloads", nargs="*", type=_code, metavar="W1", help="workloads; default: all")
    parser.add_argument(
        "--contenders",
        type=_names,
        default=list(CONTENDERS),
        metavar="A,B",
        help="names or floors, ours, peers; default: all",
    )
    parser.add_argument("--rounds", type=_rounds, default=3, help="interleaved rounds; default: 3")
    scales = "tiny: does it work; small: half an hour; full: hours"
    parser.add_argument("--scale", choices=("tiny", "small", "full"), default="small", help=scales)
    parser.add_argument(
        "--publish", action="store_true", help="put these workloads on docs/performance.md; only from 3 rounds or more"
    )
    arguments = parser.parse_args(given)
    arguments.workloads = [code for code in WORKLOADS if code in arguments.workloads] or list(WORKLOADS)
    if arguments.publish:
        _publishable(parser, arguments)
    return arguments


def _publishable(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    if arguments.rounds < ROUNDS:
        parser.error(f"--publish needs at least {ROUNDS} rounds; fewer are no result")
    if arguments.scale == "tiny":
        parser.error("--publish: what is measured at scale tiny is no result")
    for code in arguments.workloads:
        if WORKLOADS[code].floor not in arguments.contenders:
            parser.error(f"--publish: {code} needs its floor, {WORKLOADS[code].floor}, in the same run")


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and workers are ended on the way out
    from bench import record, rounds
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
    busy = load_at_rest() if arguments.publish else os.getloadavg()[0]
    if busy > QUIET:
        print(
            f"bench: the machine is busy with something else (load {busy:.1f}); no figure of this run is a result.",
            file=sys.stderr,
        )
        if arguments.publish:
            return 2

    common = record.circumstances(server=settings, rounds=arguments.rounds, scale=arguments.scale, neighbours=busy)

    def kept(results: rounds.Results) -> dict[str, dict[str, Any]]:
        made = record.parts(results, common)
        (folder / "results.json").write_text(json.dumps(made, indent=1))
        return made

    results = rounds.play(
        server,
        workloads=arguments.workloads,
        contenders=arguments.contenders,
        rounds=arguments.rounds,
        scale=arguments.scale,
        folder=folder,
        say=lambda line: print(line, file=sys.stderr, flush=True),
        keep=kept,
    )
    parts = kept(results)
    text, charts = written(parts)
    (folder / "table.md").write_text(text)
    for name, drawing in charts.items():
        (folder / name).write_text(drawing)
    if arguments.publish:
        publish_fit(parts)
    print(text)
    print(f"Kept in {folder.relative_to(ROOT)}", file=sys.stderr)
    return 0 if results.figures else 1


if __name__ == "__main__":
    sys.exit(main())
