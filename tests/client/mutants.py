"""
A mutation run over the core: each guard removed, each statement left out, in turn; some test must notice.

    python -m tests.client.mutants [room …] [never …]     prints what noticed each, and exits 1 if one survived that
                                                          is not in EQUIVALENT; `never` is "each guard removed"

A mutant is tried against the cases first, then a hundred and fifty seeds, then the small world in every order.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .node import HERE, NODE

ROOMS = HERE.parent.parent / "documents" / "client" / "core"
MUTATED = ["machine", "answers", "conflict", "state", "drafts", "storage", "writer", "talk", "session", "text", "patch"]
GUARD = re.compile(r"^(\s*)((?:\} )?(?:else )?)if \((.*)\) (.*)$")
STATEMENT = re.compile(
    r"^\s+(?:s\.[\w.]+ (?:\?\?|\|\|)?= .*;|s\.\w+\+\+;|Object\.assign\(.*;|storage\.remove\(.*;|memory\.\w+\(.*;)$"
)

# Survivors that change nothing a person could notice, each with the reason.
EQUIVALENT: dict[str, str] = {}


def mutants(room: str) -> Iterator[tuple[str, str]]:
    """Yield a name and the room's text, once for each change."""
    lines = (ROOMS / f"{room}.js").read_text().splitlines(keepends=True)
    for at, line in enumerate(lines):
        for what, changed in _changes(line):
            text = "".join([*lines[:at], changed, *lines[at + 1 :]])
            yield f"{room}.js:{at + 1} {what}: {line.strip()}", text


def _changes(line: str) -> Iterator[tuple[str, str]]:
    if line.lstrip().startswith(("//", "*", "/*", "import")):
        return
    if guard := GUARD.match(line.rstrip("\n")):
        indent, before, _, rest = guard.groups()
        yield "never", f"{indent}{before}if (false) {rest}\n"
        yield "always", f"{indent}{before}if (true) {rest}\n"
    if STATEMENT.match(line.rstrip("\n")):
        yield "left out", "\n"
    for one, other in (("&&", "||"), ("===", "!=="), ("!==", "===")):
        for found in re.finditer(rf"(?<![=!]) {re.escape(one)} ", line):
            yield f"{one} is {other}", f"{line[: found.start()]} {other} {line[found.end() :]}"


def killed_by(room: str, text: str) -> str:
    """Return what noticed the change, or ""."""
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder) / "core"
        shutil.copytree(ROOMS, core)
        (core / f"{room}.js").write_text(text)
        entry = Path(folder) / "entry.mjs"
        entry.write_text((HERE / "entry.js").read_text().replace("../../documents/client/core", str(core)))
        (Path(folder) / "package.json").write_text('{"type":"module"}')
        for name, arguments in (
            ("cases", [HERE / "cases.test.js"]),
            ("machine", [HERE / "machine.test.js"]),
            ("issues", [HERE / "issues.test.js"]),
            ("patch", [HERE / "patch.test.js"]),
            ("seeds", [HERE / "simulate.js", "1", "150"]),
            ("orders", [HERE / "explore.js", "2", "1", "1"]),
        ):
            try:
                done = subprocess.run([NODE, *arguments], env={"CLIENT": str(entry)}, capture_output=True, timeout=120)
            except subprocess.TimeoutExpired:
                return f"{name} (never ends)"
            if done.returncode:
                return name
    return ""


def main(rooms: list[str]) -> int:
    """Try every mutant; return the exit code."""
    only = [word for word in rooms if word in ("never", "always", "left", "&&", "||", "===", "!==")]
    rooms = [room for room in rooms if room in MUTATED]
    every = [
        (name, room, text)
        for room in rooms or MUTATED
        for name, text in mutants(room)
        if not only or name.split(" ")[1].rstrip(":") in only
    ]
    results = []
    with ThreadPoolExecutor(2) as pool:
        for name, by in pool.map(lambda one: (one[0], killed_by(one[1], one[2])), every):
            print(by or "SURVIVED", name, flush=True)
            results.append((name, by))
    counts: dict[str, int] = {}
    left = [name for name, by in results if not by]
    for _, by in results:
        counts[by or "survived"] = counts.get(by or "survived", 0) + 1
    print(f"{len(every)} mutants: " + ", ".join(f"{count} {by}" for by, count in sorted(counts.items())))
    unknown = [name for name in left if name.split(" ", 1)[1] not in EQUIVALENT]
    for name in unknown:
        print("survived", name)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
