"""Kernels compiled ahead of their launch, side by side, by a server of this process (`compile_server`).

A call orders the kernels that it is going to launch as soon as it knows them; a launch waits for its own only. Where no
server can be had, as on systems that do not fork, the launch compiles.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from cusubmatch.engines.compile.code_cache import holds_compiled
from cusubmatch.engines.compile.compile_order import Order, encode
from cusubmatch.system.deadlines import Pending

__all__ = [
    "AHEAD",
    "MAYBE",
    "NOW",
    "PROCESSES_TO_SPARE",
    "CompileServer",
    "number_of_processes",
    "server",
    "start_where_nothing_is",
]

NOW, AHEAD, MAYBE = 0, 1, 2  # how urgent: a launch waits for it; one will; one may
MOST_PROCESSES = 32
PROCESSES_TO_SPARE = 8  # from which kernels are compiled that most calls need, whether or not this one does
SERVE = """
import gc, sys
gc.disable()
sys.path[:0] = {path!r}
from cusubmatch.engines.gpu.all_kernels import usual_kernels
from cusubmatch.engines.gpu.runtime.compile_server import serve
serve({number}, usual_kernels(offsets64=False), {usual_for!r})
"""


def number_of_processes() -> int:
    """How many kernels are compiled at once: one a core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_PROCESSES)


class CompileServer:
    """Orders of this process, and the server that it has started for them."""

    def __init__(self) -> None:
        self._lock, self._numbers = threading.Lock(), itertools.count()
        self._pending: dict[Path, Pending] = {}
        self._by_number: dict[int, Path] = {}
        self._process: Any = None
        self._failed = not hasattr(os, "fork")

    def start(self, usual_for: tuple[int, int] | None = None) -> bool:
        """Start the server, unless it runs; whether one can be had.

        It compiles the kernels that most calls need as soon as it can, for a GPU of the compute capability `usual_for`.
        """
        with self._lock:
            return self._started(usual_for)

    def order(self, recipe: Any, types: tuple, capability: tuple, path: Path, urgency: int = AHEAD) -> Pending | None:
        """Have a kernel compiled that the store has at `path` then; what to wait for, None if nobody compiles it."""
        with self._lock:
            known = self._pending.get(path)
            if (known is not None and urgency != NOW) or not self._started():
                return known
            number, pending = next(self._numbers), known or Pending()
            self._pending[path], self._by_number[number] = pending, path
            with contextlib.suppress(OSError, ValueError):  # it has just ended: its reader lets all go
                self._process.stdin.write(encode(Order(urgency, number, recipe, types, tuple(capability))))
                self._process.stdin.flush()
            return pending

    def _started(self, usual_for=None):
        if self._process is None and not self._failed:
            paths = [str(Path(__file__).parents[3]), *filter(None, sys.path)]
            code = SERVE.format(path=paths, number=number_of_processes(), usual_for=usual_for)
            pipe = subprocess.PIPE
            try:
                self._process = subprocess.Popen(  # noqa: S603 - this Python
                    [sys.executable, "-c", code],
                    stdin=pipe,
                    stdout=pipe,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError:
                self._failed = True
            else:
                threading.Thread(
                    target=self._read, args=(self._process,), name="cusubmatch compiler", daemon=True
                ).start()
        return self._process is not None

    def _read(self, process):
        """Let those go on who wait for what is done; in a thread of its own, until the server ends."""
        answered = False
        for line in process.stdout:
            answered = True
            self._done(int(line))
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.wait()
        process.stdout.close()
        with self._lock:
            self._process = None
            numbers = list(self._by_number)
            self._failed = process.returncode != 0 or (bool(numbers) and not answered)
        for number in numbers:
            self._done(number)

    def _done(self, number):
        with self._lock:
            path = self._by_number.pop(number, None)
            pending = self._pending.pop(path, None)
        if pending is not None and not pending.over:
            pending.end()


_servers: dict[int, CompileServer] = {}  # by process, since a fork has none


def server() -> CompileServer:
    """The server of this process."""
    return _servers.setdefault(os.getpid(), CompileServer())


def start_where_nothing_is(capability: tuple[int, int]) -> None:
    """Start the server on a machine where no kernel has been compiled: it begins while this process imports its own."""
    if not holds_compiled(".kernel"):
        server().start(capability)
