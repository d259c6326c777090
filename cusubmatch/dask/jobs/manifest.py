"""The folder of a job: what the job is, and what is done of it, so that another process can go on with it.

`job.json` says what the job is: its graph, its queries, what a match is. `done.jsonl` gets a line for each part when
that is complete on the disk; a line that was cut short, by a crash, counts as absent. Parts are files that are complete
or absent under their names. A job with another `job.json` is refused rather than mixed with this one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from cusubmatch.io.publish import CAN_LOCK, OutputPath, disk_errors, locked

__all__ = ["JOB", "JobFolder"]

JOB, DONE_LINES = "job.json", "done.jsonl"
FORMAT, VERSION = "cusubmatch job", 1


class JobFolder:
    """A folder with the parts of a job, open for more of them.

    Parameters
    ----------
    target : OutputPath
        The folder; the one around it exists.
    about : mapping
        What tells this job from others, as JSON has it.
    resume : bool
        Go on with the job that is there, if there is one. Else a folder that is not empty is refused.

    Attributes
    ----------
    path : Path
    done : dict
        What was noted of each part, by its number.
    """

    def __init__(self, target: OutputPath, about: Mapping[str, Any], resume: bool):
        self.path, self._name, self._resume = target.path, target.name, resume
        self._about = {"format": FORMAT, "version": VERSION, **about}
        self.done: dict[int, dict[str, Any]] = {}
        self._lines: IO[bytes] | None = None
        self._lock: int | None = None

    def __enter__(self) -> Self:
        if self.path.is_dir() and any(self.path.iterdir()):
            self._check_same()
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lines is not None:
            self._lines.close()
        if self._lock is not None:
            os.close(self._lock)

    def note(self, number: int, **facts: Any) -> None:
        """Note a part as done."""
        assert self._lines is not None  # noqa: S101 - the folder is open
        with self._disk():
            self._lines.write(json.dumps({"number": number, **facts}).encode() + b"\n")
            self._lines.flush()
        self.done[number] = facts

    def write_whole(self, name: str, content: bytes) -> None:
        """Write a file that is complete or absent."""
        hidden = self.path / f".{name}.{os.getpid()}.partial"
        with self._disk():
            with hidden.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            hidden.replace(self.path / name)

    def publish(self, target: Path) -> None:
        """Let the folder, which is complete, appear as `target`, without what says that it is a job."""
        with self._disk():
            (self.path / DONE_LINES).unlink()
            (self.path / JOB).unlink()
            if target.is_dir():
                target.rmdir()  # it is empty
            self.path.replace(target)

    def flush(self) -> None:
        """Put the notes on the disk."""
        assert self._lines is not None  # noqa: S101 - the folder is open
        with self._disk():
            os.fsync(self._lines.fileno())

    def _open(self) -> None:
        with self._disk():
            self.path.mkdir(exist_ok=True)
            self._lock = locked(self.path)
            if self._lock is None and CAN_LOCK:
                raise ValueError(f"path: another process works on {self._name!r}; wait for it, or end it")
            if not (self.path / JOB).exists():
                self.write_whole(JOB, json.dumps(self._about, indent=1).encode())
            whole, lines = self._read(), self.path / DONE_LINES
            self._lines = lines.open("r+b" if lines.exists() else "x+b")
            self._lines.truncate(whole)
            self._lines.seek(0, os.SEEK_END)

    def _check_same(self) -> None:
        """Refuse a folder of something else, or of this job if it is not to be resumed."""
        if not self._resume:
            raise ValueError(f"path: the folder {self._name!r} is not empty; name a new one, or resume=True to go on")
        try:
            there = json.loads((self.path / JOB).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise ValueError(f"path: {self._name!r} holds no job to resume: it has no {JOB}") from None
        ours = json.loads(json.dumps(self._about))
        differing = [key for key in {**ours, **there} if ours.get(key) != there.get(key)]
        if differing:
            raise ValueError(f"path: {self._name!r} holds another job, which differs in {', '.join(sorted(differing))}")

    def _read(self) -> int:
        """Read what is done; the bytes of whole lines."""
        path: Path = self.path / DONE_LINES
        content = path.read_bytes() if path.exists() else b""
        whole = content.rfind(b"\n") + 1
        for line in content[:whole].splitlines():
            facts = json.loads(line)
            self.done[facts.pop("number")] = facts
        return whole

    def _disk(self) -> Any:
        return disk_errors("path", self._name)
