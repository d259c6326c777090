"""Places to write to: a file or a folder by its name, refused before any work if nothing can be written there."""

from __future__ import annotations

import os
from numbers import Integral
from pathlib import Path

from cusubmatch.io.formats import FILE_SUFFIXES, suffix_of
from cusubmatch.io.publish import FOLDER, OutputPath

__all__ = ["check_folder", "check_rows", "check_target", "folder_named"]


def check_target(path: str | os.PathLike, rows_per_file: int | None = None) -> OutputPath:
    """The place to write to; ValueError, before any work, if matches cannot be written there."""
    name = _name_of("path", path)
    suffix, target = suffix_of(os.path.abspath(name)), Path(os.path.realpath(name))  # noqa: PTH100 - "a/.."
    if suffix not in (*FILE_SUFFIXES, FOLDER):
        expected = ", ".join(FILE_SUFFIXES)
        raise ValueError(f"path: cannot tell the format of {name!r}; end it in one of {expected}, or name a folder")
    if rows_per_file is not None:
        check_rows("rows_per_file", rows_per_file)
        if suffix != FOLDER:
            raise ValueError(f"rows_per_file: {name!r} is one file; leave its suffix out for a folder of parts")
    _check_place("path", name, target, suffix == FOLDER, ", or a .parquet or .csv file")
    return OutputPath(name, target, suffix)


def check_folder(folder: str | os.PathLike, argument: str = "folder") -> OutputPath:
    """A folder to write files to, which must not exist yet or be empty; ValueError if it cannot be written."""
    target = folder_named(argument, folder)
    _check_place(argument, target.name, target.path, True, "")
    return target


def folder_named(argument: str, folder: str | os.PathLike) -> OutputPath:
    """A folder by its name, whatever is in it; ValueError if there is something else, or it could not be made."""
    name = _name_of(argument, folder)
    target = Path(os.path.realpath(name))
    if not target.is_dir():
        _check_place(argument, name, target, True, "")
    return OutputPath(name, target, FOLDER)


def _name_of(argument: str, path: str | os.PathLike) -> str:
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise TypeError(f"{argument}: expected a str or a path, got {type(path).__name__}")
    if not name or "\0" in name:
        raise ValueError(f"{argument}: expected the name of a file or a folder, got {name!r}")
    return name


def _check_place(argument: str, name: str, target: Path, is_folder: bool, alternatives: str) -> None:
    """Refuse a place where no file, or no folder, can be written; the message names `alternatives`."""
    if target.is_mount():
        raise ValueError(f"{argument}: {name!r} is where a disk begins and cannot be replaced; name something in it")
    if is_folder and target.is_dir():
        if any(target.iterdir()):
            raise ValueError(f"{argument}: the folder {name!r} is not empty; name a new one{alternatives}")
    elif target.exists() and (is_folder or not target.is_file()):
        kind = "folder" if is_folder else "file"
        raise ValueError(f"{argument}: {name!r} is there and is no {kind}; name another")
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK | os.X_OK):
        raise ValueError(f"{argument}: cannot write {name!r}; name a file or a folder in an existing, writable folder")


def check_rows(argument: str, rows: int) -> None:
    """Refuse what is not a positive number of rows."""
    if isinstance(rows, bool) or not isinstance(rows, Integral):
        raise TypeError(f"{argument}: expected an int, got {type(rows).__name__}")
    if rows < 1:
        raise ValueError(f"{argument}: expected at least 1, got {rows}")
