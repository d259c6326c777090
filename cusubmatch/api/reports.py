"""What a call says: how far it is while it runs, and what was found when its time is over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.errors import TimeLimitExceeded

__all__ = ["reporting", "time_limit_exceeded"]


@contextlib.contextmanager
def reporting(progress: Any, activity: str) -> Iterator[ProgressCallback | None]:
    """What a run reports to: the caller's function, a line on stderr or in a notebook for True, or nothing."""
    if progress is not True:
        yield progress or None
        return
    from cusubmatch.display.progress import Progress

    with Progress(True) as line:
        yield line.start(activity)


def time_limit_exceeded(seconds: float | None, partial: Any) -> TimeLimitExceeded:
    """The error of a time limit."""
    return TimeLimitExceeded(f"time_limit: not finished within {seconds} s; .partial holds what was found", partial)
