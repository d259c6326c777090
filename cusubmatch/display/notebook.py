"""What a notebook shows: a line of progress that is updated in place, and text and tables as HTML.

IPython is imported only by what runs in its kernel; no widgets are needed.
"""

from __future__ import annotations

import html
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

__all__ = ["ProgressLine", "preformatted", "table"]

SECONDS_BETWEEN_UPDATES = 0.1


def preformatted(text: str) -> str:
    """HTML that shows text as it is."""
    return f"<pre>{html.escape(text)}</pre>"


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """HTML of a small table: a title, then a name and a value a row."""
    body = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
    return f"<table><caption>{html.escape(title)}</caption><tbody>{body}</tbody></table>"


class ProgressLine:
    """A bar and a line of text under the cell; the text stays when the work is over."""

    def __init__(self):
        self._handle: Any = None  # IPython.display.DisplayHandle
        self._title, self._matches, self._share, self._counted = "", "", 0.0, "matches"
        self._begun = self._shown = 0.0

    def begin(self, title: str, counted: str = "matches") -> None:
        """Begin a part of the work, and say what is counted."""
        self._counted = counted
        self._title, self._matches, self._share, self._begun = title, "", 0.0, time.monotonic()
        self._show(title, "<progress></progress> ")

    def update(self, share: float, matches: int, rate: float) -> None:
        """Show the share done, the matches so far and how many are found a second."""
        self._share, self._matches = (
            share,
            f", {matches:,} {'match' if (matches, self._counted) == (1, 'matches') else self._counted}",
        )
        now = time.monotonic()
        if now - self._shown < SECONDS_BETWEEN_UPDATES:
            return
        elapsed = now - self._begun
        left = f", {_clock(elapsed / share - elapsed)} left" if share > 0 else ""
        text = f"{self._title}: {share:.0%}{self._matches}, {rate:,.3g} a second, {_clock(elapsed)}{left}"
        self._show(text, f'<progress value="{share:.3f}"></progress> ')

    def end(self, *, stopped: bool) -> None:
        """Leave the text without the bar: the number of matches, and the time."""
        if self._handle is None:
            return
        elapsed = time.monotonic() - self._begun
        took = f"{elapsed:.1f} s" if elapsed < 60 else _clock(elapsed)
        how = f"stopped at {self._share:.0%}" if stopped else "done"
        self._show(f"{self._title}: {how}{self._matches}, {took}", "")

    def _show(self, text, bar):
        from IPython.display import display

        data = {"text/plain": text, "text/html": f"<div>{bar}{html.escape(text)}</div>"}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
        self._shown = time.monotonic()


def _clock(seconds):
    """Hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))
