"""A line of progress: on a terminal drawn by rich, in a notebook under the cell."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Progress"]


class Progress:
    """What is being done, how much of it, the matches so far, their rate and the time.

    On a terminal, a line on stderr that goes when the work is over; in a notebook, a line under the cell that stays.
    """

    def __init__(self, wanted: bool | None):
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._line: Any = None  # _TerminalLine or notebook.ProgressLine
        self._begun = 0.0

    def __enter__(self):
        if self._wanted:
            from rich.console import Console

            from cusubmatch.display.notebook import ProgressLine

            console = Console(stderr=True)
            self._line = ProgressLine() if console.is_jupyter else _TerminalLine(console)
        return self

    def __exit__(self, kind, *_):
        if self._line is not None:
            self._line.end(stopped=kind is not None)

    def start(self, title: str, counted: str = "matches") -> Callable[[float, int], None] | None:
        """Begin a part of the work; returns a callable for (fraction_done, counted), None where nothing is shown."""
        if self._line is None:
            return None
        self._begun = time.monotonic()
        self._line.begin(title, counted)
        return self._update

    def _update(self, fraction_done: float, matches: int):
        rate = matches / max(time.monotonic() - self._begun, 1e-3)
        self._line.update(fraction_done, matches, rate)


class _TerminalLine:
    """A transient line on stderr, drawn by rich."""

    def __init__(self, console):
        from rich import progress

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TextColumn("{task.fields[matches]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task: Any = None
        self._bar.start()

    def begin(self, title, counted):
        self._counted = counted
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(title, total=None, matches="")

    def update(self, share, matches, rate):
        text = f"{matches:,} {self._counted}, {rate:,.3g} a second"
        self._bar.update(self._task, total=1.0, completed=share, matches=text)

    def end(self, *, stopped):  # noqa: ARG002 - the line goes either way
        self._bar.stop()
