"""
The browser's half without a browser: the cases, the simulator, the small world in every order, and the shipped form.

    SEEDS=20000 pytest tests/client/test_core.py -s      more seeds;  SEED=123 SEEDS=1 runs one of them again
"""

import subprocess
import sys
from pathlib import Path

import pytest

from .node import HERE, node, npm_install, report

CASES = [HERE / f"{name}.test.js" for name in ("cases", "machine", "issues", "patch")]
CLIENT = HERE.parent.parent / "documents" / "client"
sys.path.insert(0, str(CLIENT))

import build  # noqa: E402 - it stands beside the rooms it builds


def test_the_cases_hold_under_a_virtual_clock():
    report(node("--test", "--test-reporter=spec", *CASES))


def test_the_types_name_what_is_there():
    report(node("--test", "--test-reporter=spec", HERE / "types.test.js"))


@pytest.mark.long
def test_tsc_finds_no_fault_in_the_types_and_the_rooms(tmp_path):
    npm_install(tmp_path, "typescript@5.9.3")

    node(tmp_path / "node_modules" / "typescript" / "bin" / "tsc", "-p", HERE / "types")


def test_formulas_compute_and_a_fault_is_a_value():
    report(node("--test", "--test-reporter=spec", HERE / "formulas.test.js"))


def test_the_simulator_and_the_small_world_lose_no_token():
    report(node("--test", "--test-reporter=spec", HERE / "simulate.test.js"))


@pytest.mark.long
def test_a_long_night_loses_no_token_either():
    report(
        node("--test", "--test-reporter=spec", HERE / "simulate.test.js", timeout=7200, SEEDS="50000", ORDERS="3,2,0")
    )


@pytest.mark.long
@pytest.mark.parametrize(("edits", "faults", "decisions"), [(4, 2, 0), (3, 2, 1)])
def test_every_order_of_two_tabs_loses_no_token(edits, faults, decisions):
    # Twenty and sixteen million worlds, each compared exactly: three gigabytes.
    bounds = [str(one) for one in (edits, faults, decisions, 30_000_000)]

    printed = node("--max-old-space-size=6000", HERE / "explore.js", *bounds, timeout=7200)

    print(printed)
    assert f"complete, {edits} edits, {faults} faults, {decisions} decisions" in printed


def test_the_shipped_form_passes_what_the_rooms_pass(tmp_path):
    shipped = tmp_path / "client.mjs"
    shipped.write_text(build.build(HERE / "entry.js"))

    report(node("--test", "--test-reporter=spec", *CASES, CLIENT=str(shipped)))
    node(HERE / "simulate.js", "1", "500", CLIENT=str(shipped))


def test_the_shipped_file_is_what_the_rooms_say():
    done = subprocess.run([sys.executable, CLIENT / "build.py", "--check"], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_the_core_fits_8_kib_and_the_whole_12_kib_gzipped():
    core, whole = build.packed(build.build(build.CORE)), build.packed(build.build())

    print(f"core {core} bytes, with UI {whole} bytes, gzipped")
    assert core <= 8 * 1024
    assert whole <= 12 * 1024


def test_the_shipped_file_stands_alone_and_needs_no_relaxed_policy():
    text = build.SHIPPED.read_text()

    for word in ("import ", "import(", "eval(", "new Function", "innerHTML", 'unload"', "sendBeacon", ".style."):
        assert word not in text.replace("beforeunload", ""), word


@pytest.mark.parametrize("room", sorted(CLIENT.glob("[cu]*/*.js")), ids=lambda room: room.name)
def test_a_room_is_small_and_swallows_no_error(room: Path):
    text = room.read_text()

    assert text.startswith("// "), "a room opens with what it promises"
    assert len(text.splitlines()) <= 230
    assert "catch {" not in text
    assert "force" not in text
