"""
Make the one shipped file from the rooms.

    python documents/client/build.py            writes it
    python documents/client/build.py --check    exit 1 where the shipped file is not what the rooms say

A module of several files would be hashed only in part by ManifestStaticFilesStorage, so a page could load an old
helper beside a new entry. One file can't be half old. The rooms are joined in the order in which they need each other,
and made small by a minifier whose version is pinned in requirements.txt: the same rooms, the same bytes.
"""

import gzip
import re
import sys
from pathlib import Path

import minify

ROOMS = Path(__file__).parent
SHIPPED = ROOMS.parent / "static" / "documents" / "document-session.js"
CORE, WHOLE = ROOMS / "core" / "open.js", ROOMS / "ui" / "index.js"
BANNER = "// django-known-state: documents/client\n"

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
    names = ", ".join(exported)
    # Inside a function the names at the top are local, so that they are shortened too.
    whole = f"const {{ {names} }} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();\nexport {{ {names} }};\n"
    small: str = minify.string("application/javascript", whole)
    return BANNER + small + "\n"


def packed(text: str) -> int:
    """Return the size in bytes as a server sends it, gzipped."""
    return len(gzip.compress(text.encode(), 9, mtime=0))


def main(arguments: list[str]) -> int:
    """Write the shipped file, or say whether it is what the rooms say."""
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
