"""
A user's data files on disk: everything in `USER_FILES_ROOT/<id>/`, and nothing outside it.

Deleting walks by directory handles and never follows a symbolic link: a link is removed, what it points to is not.
Each file that is gone stays gone, so a run that died half-way is finished by the next.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR

from django.conf import settings

__all__ = ["FilesRootError", "count", "delete_all", "folder_for"]


class FilesRootError(Exception):
    """The root itself is not there. An unmounted volume looks like this, so it is never taken for "already gone"."""


def folder_for(user_id: int) -> Path:
    """Return the user's folder."""
    return Path(settings.USER_FILES_ROOT) / str(int(user_id))


def count(user_id: int) -> int:
    """Return how many files and links the user has."""
    return sum(len(files) + _links(place, folders) for place, folders, files in os.walk(folder_for(user_id)))


def delete_all(user_id: int, *, pause: float = 0) -> int:
    """
    Delete the user's files and folder; return how many files this call deleted.

    The pause after each file is for the demo, which needs time to kill somebody.
    """
    root = Path(settings.USER_FILES_ROOT)
    if not root.is_dir():
        message = f"{root} does not exist. Is its volume mounted? If no file was ever stored, create the folder."
        raise FilesRootError(message)
    with _opened(str(root)) as handle:
        return _delete(folder_for(user_id).name, handle, pause)


def _delete(name: str, handle: int, pause: float) -> int:
    """Delete what has this name in the open folder; return how many files that were."""
    # Somebody else may delete the same files at the same time: a late owner of this run, thawed after its lease.
    with suppress(FileNotFoundError):
        if not S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=handle)
            time.sleep(pause)
            return 1
        with _opened(name, handle) as folder:
            deleted = sum(_delete(entry, folder, pause) for entry in os.listdir(folder))
        os.rmdir(name, dir_fd=handle)
        return deleted
    return 0


@contextmanager
def _opened(name: str, handle: int | None = None) -> Iterator[int]:
    # Below the root a link that took a folder's place since we looked must not lead us outside.
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | (0 if handle is None else os.O_NOFOLLOW), dir_fd=handle)
    try:
        yield folder
    finally:
        os.close(folder)


def _links(place: str, folders: list[str]) -> int:
    return sum(os.path.islink(os.path.join(place, folder)) for folder in folders)
