"""Writing and deleting of files below a folder, without following links.

A command writes into folders that come from elsewhere, such as a cloned repository. A link in it could lead a write to
any file of the user. So the output folder is opened as it was named, and each folder below it is opened relative to
the one above, with O_NOFOLLOW. A link, and a path that leaves the folder, is refused by name.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

from prejoin.pipeline import codes
from prejoin.pipeline.errors import PipelineError, RefusedError

_SECONDS_UNTIL_ABANDONED = 60.0
"""Seconds after which a temporary file belongs to no running build."""
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
_RELATIVE = os.open in os.supports_dir_fd
"""Whether files can be named relative to an open folder; on Windows they cannot."""


@dataclass(slots=True)
class _Folder:
    """An open folder. Where the system cannot open one, its path stands for it."""

    path: Path
    handle: int | None

    def name(self, name: str) -> str:
        return name if self.handle is not None else str(self.path / name)


def check_outputs(folder: Path, paths: Iterable[PurePath]) -> None:
    """Refuses outputs that lie outside of the folder, or are reached by a link. Nothing is written."""
    for path in paths:
        inside = _inside(folder, path)
        for part in (*reversed(inside.parents[:-1]), inside):
            place = folder / part
            try:
                mode = place.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                break
            except OSError as problem:
                raise _write_error(place, problem) from None
            if stat.S_ISLNK(mode):
                message = f"{place} is a symbolic link; outputs are not written through links"
                raise _refusal(place, message, "delete the link, or give a path without one")
            if part == inside and not stat.S_ISREG(mode):
                kind = "a folder" if stat.S_ISDIR(mode) else "not a plain file"
                raise _refusal(place, f"{place} is {kind}; a file would be written there", "move it away")


def make_folder(folder: Path) -> None:
    """Makes a folder, and those above it, if they are missing. Raises a `PipelineError` if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        message = f"{folder} cannot be made: {problem.strerror or problem}"
        raise PipelineError(codes.CANNOT_WRITE, message, "name a folder that you may write", str(folder)) from None


def write_file(folder: Path, path: PurePath, text: str) -> None:
    """Writes a file below a folder as a whole or not at all. Makes the folders between that are missing."""
    check_outputs(folder, [path])
    inside = _inside(folder, path)
    place = folder / inside
    try:
        with _open_folder(folder, inside.parent, make=True) as parent:
            _delete_abandoned(parent, inside.name)
            _replace(parent, inside.name, text)
    except OSError as problem:
        raise _write_error(place, problem) from None


def delete_file(folder: Path, path: PurePath) -> None:
    """Deletes a file below a folder, and the folders between that it leaves empty."""
    check_outputs(folder, [path])
    inside = _inside(folder, path)
    place = folder / inside
    try:
        with suppress(FileNotFoundError), _open_folder(folder, inside.parent) as parent:
            os.unlink(parent.name(inside.name), dir_fd=parent.handle)
    except OSError as problem:
        message = f"{place} cannot be deleted: {problem.strerror or problem}"
        raise PipelineError(codes.CANNOT_WRITE, message, "check that you may delete it", str(place)) from None
    with suppress(OSError):  # a folder that still holds something stays
        for above in inside.parents[:-1]:
            with _open_folder(folder, above.parent) as parent:
                os.rmdir(parent.name(above.name), dir_fd=parent.handle)


def _inside(folder: Path, path: PurePath) -> PurePosixPath:
    """A path relative to the folder. A name from a document must not lead elsewhere."""
    relative = PurePosixPath(path.as_posix())
    if (
        path.is_absolute()
        or relative.is_absolute()
        or ".." in relative.parts
        or not relative.name
        or "\0" in str(relative)
    ):
        message = f"the output {str(path)!r} does not lie below {folder}"
        raise _refusal(folder, message, "outputs have relative names without `..`: give another name")
    return relative


@contextmanager
def _open_folder(folder: Path, below: PurePosixPath, make: bool = False) -> Iterator[_Folder]:
    """A folder below the output folder, open; no part of the way below the output folder is a link."""
    opened_folder = _Folder(folder, os.open(folder, _FOLDER) if _RELATIVE else None)
    try:
        for part in below.parts:
            name, above = opened_folder.name(part), opened_folder.handle
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=above)
            opened_folder.path /= part
            if above is not None:
                opened_folder.handle = os.open(name, _FOLDER | _NO_FOLLOW, dir_fd=above)
                os.close(above)
        yield opened_folder
    finally:
        if opened_folder.handle is not None:
            os.close(opened_folder.handle)


def _replace(parent: _Folder, name: str, text: str) -> None:
    at = parent.handle
    temporary, final = parent.name(f".{name}.{secrets.token_hex(4)}"), parent.name(name)
    handle = os.open(temporary, _NEW, 0o666, dir_fd=at)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(os.stat(final, dir_fd=at, follow_symlinks=False).st_mode)
            os.chmod(temporary, mode, dir_fd=at)
        # If a link was put there meanwhile, this replaces the link and not what it points at.
        os.replace(temporary, final, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=at)
        raise


def _delete_abandoned(parent: _Folder, name: str) -> None:
    """Deletes the temporary files that interrupted builds left beside a file."""
    ours = re.compile(re.escape(f".{name}.") + r"[a-z0-9_]{8}")
    for entry in os.listdir(parent.path if parent.handle is None else parent.handle):
        if ours.fullmatch(entry):
            status = os.stat(parent.name(entry), dir_fd=parent.handle, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _SECONDS_UNTIL_ABANDONED:
                os.unlink(parent.name(entry), dir_fd=parent.handle)


def _refusal(path: Path, message: str, fix: str) -> RefusedError:
    return RefusedError(codes.UNSAFE_OUTPUT, message, fix, str(path))


def _write_error(path: Path, problem: OSError) -> PipelineError:
    reason = problem.strerror or str(problem)
    fix = "check that the folder exists and that you may write there"
    return PipelineError(codes.CANNOT_WRITE, f"{path} cannot be written: {reason}", fix, str(path))
