"""A user's files on disk: all of them, nothing outside, and a killed deletion is finished by the next."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from project.accounts import userfiles

ROOT = Path(__file__).resolve().parents[2]


def _fill(folder, files=3):
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / f"note-{number}").write_text("note")


def test_all_files_and_folders_of_the_user_go_and_are_counted(files_root):
    _fill(files_root / "1" / "deep" / "deeper")
    _fill(files_root / "10")

    assert userfiles.delete_all(1) == 3

    assert [path.name for path in files_root.iterdir()] == ["10"]


def test_a_folder_that_is_not_there_is_already_gone(files_root):
    assert userfiles.delete_all(1) == 0


def test_a_missing_root_is_an_error_because_an_unmounted_volume_looks_like_that(settings, tmp_path):
    settings.USER_FILES_ROOT = tmp_path / "unmounted"

    with pytest.raises(userfiles.FilesRootError, match="volume mounted"):
        userfiles.delete_all(1)


@pytest.mark.parametrize("place", ["1/link", "1/deep/link", "1"])
def test_a_link_is_removed_and_what_it_points_to_is_not(files_root, tmp_path, place):
    _fill(tmp_path / "outside")
    link = files_root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "outside", target_is_directory=True)

    assert userfiles.delete_all(1) == 1

    assert list(files_root.iterdir()) == []
    assert len(list((tmp_path / "outside").iterdir())) == 3


@pytest.mark.parametrize("user_id", ["../2", "..", "", "/etc"])
def test_what_is_no_number_names_no_folder(files_root, user_id):
    with pytest.raises(ValueError):
        userfiles.delete_all(user_id)


def test_files_that_may_not_be_deleted_are_an_error(files_root, monkeypatch):
    # Root may delete anything, so the kernel has to be asked for something nobody may: removing a mount point.
    _fill(files_root / "1")
    (files_root / "1" / "busy").mkdir()
    monkeypatch.setattr(os, "rmdir", _busy)

    with pytest.raises(OSError, match="busy"):
        userfiles.delete_all(1)


def _busy(name, *, dir_fd):
    raise OSError(16, "Device or resource busy", name)


def test_a_deletion_killed_between_two_files_is_finished_by_the_next(files_root):
    _fill(files_root / "1", files=60)
    worker = subprocess.Popen([sys.executable, "-c", _DELETE_SLOWLY, str(files_root)], cwd=ROOT)
    until = time.monotonic() + 30
    while userfiles.count(1) > 40:
        assert worker.poll() is None
        assert time.monotonic() < until
        time.sleep(0.002)

    os.kill(worker.pid, signal.SIGKILL)
    assert worker.wait() == -signal.SIGKILL
    left = userfiles.count(1)

    assert 0 < left <= 40
    assert userfiles.delete_all(1) == left
    assert list(files_root.iterdir()) == []


_DELETE_SLOWLY = """
import sys
from django.conf import settings
settings.configure(USER_FILES_ROOT=sys.argv[1])
from project.accounts import userfiles
userfiles.delete_all(1, pause=0.02)
"""
