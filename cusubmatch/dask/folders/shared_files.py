"""Files that all workers see: found to be the same everywhere, and folders for what is written once and read by all."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import dask

from cusubmatch.dask.clients import on_all_workers
from cusubmatch.dask.folders.left_folders import OWNER_FILE, owned_folder
from cusubmatch.dask.workers.sources import FileStamp, stamps_of
from cusubmatch.errors import ClusterError, GraphError
from cusubmatch.frames import is_dask_frame

__all__ = ["check_shared", "shared_folder", "stamps_on_workers", "write_parts"]


def stamps_on_workers(client: Any, argument: str, path: Any, suffix: str) -> tuple[FileStamp, ...]:
    """The files of a path, as all workers see them."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{argument}: expected a str or a path, got {type(path).__name__}")
    name = os.path.realpath(os.fspath(path))
    seen = on_all_workers(client, stamps_of, name, suffix)
    blind = [worker for worker, stamps in seen.items() if stamps is None]
    if blind and (len(blind) == len(seen) or not seen):
        raise ClusterError(f"{argument}: no worker can see {os.fspath(path)!r}; name a path that all workers see")
    if blind:
        raise ClusterError(
            f"{argument}: {len(blind)} of {len(seen)} workers, such as {blind[0]}, cannot see {os.fspath(path)!r}; "
            "name a path that all workers see"
        )
    different = set(seen.values())
    if len(different) > 1:
        raise ClusterError(
            f"{argument}: {os.fspath(path)!r} is not the same file on all workers; put it on a shared disk"
        )
    stamps = different.pop() if different else None
    if not stamps:
        raise GraphError(f"{argument}: there is no {suffix or 'file'} file in {os.fspath(path)!r}")
    return stamps


def write_parts(table: Any, folder: str, argument: str) -> None:
    """Let the workers write the partitions of a Dask dataframe."""
    if not is_dask_frame(table):
        raise TypeError(f"{argument}: expected a Dask dataframe, as the edges are, got {type(table).__name__}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask's, on sizes of task graphs
        table.to_parquet(folder, write_index=False, name_function=_part_name)


def _part_name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def shared_folder(client: Any) -> str | None:
    """A new folder that all workers see; None if there is none; it is removed when this process has ended."""
    parent = dask.config.get("temporary-directory", None) or tempfile.gettempdir()
    folder = owned_folder(parent)
    token = Path(folder, OWNER_FILE)
    seen = on_all_workers(client, _reads, str(token), token.read_text(encoding="utf-8"))
    return folder if all(seen.values()) else None


def check_shared(client: Any, folder: Path, token: str) -> None:
    """Refuse a folder that some worker does not see; it has a file named `token`."""
    content = (folder / token).read_text(encoding="utf-8")
    seen = on_all_workers(client, _reads, str(folder / token), content)
    blind = [worker for worker, sees in seen.items() if not sees]
    if blind:
        raise ClusterError(
            f"path: {len(blind)} of {len(seen)} workers, such as {blind[0]}, cannot see {str(folder)!r}; "
            "name a folder that all workers see"
        )


def _reads(path: str, content: str) -> bool:
    try:
        return Path(path).read_text(encoding="utf-8") == content
    except OSError:
        return False
