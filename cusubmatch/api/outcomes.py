"""How a call for one pattern of many ended: what is wrong with it alone is told, and is no error of the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cusubmatch.errors import TimeLimitExceeded

__all__ = ["DONE", "ERROR", "OUT_OF_MEMORY", "STATUSES", "TIME_LIMIT", "Outcome", "outcome_of"]

STATUSES = DONE, TIME_LIMIT, OUT_OF_MEMORY, ERROR = "done", "time limit", "out of memory", "error"


class Outcome(NamedTuple):
    """What a call returned, None if it failed; how it ended; and why, if not well."""

    value: Any
    status: str
    reason: str


def outcome_of(function: Callable[..., Any], *arguments: Any) -> Outcome:
    """Call a function; what is wrong with one pattern alone is an outcome and no error."""
    try:
        return Outcome(function(*arguments), DONE, "")
    except TimeLimitExceeded as late:
        return Outcome(None, TIME_LIMIT, str(late).partition("; .partial")[0].partition("; nothing was kept")[0])
    except MemoryError as error:
        return Outcome(None, OUT_OF_MEMORY, _first_line(error) or "there is not enough memory")
    except ValueError as error:  # PatternError, and GraphError for a pattern that does not suit the graph
        return Outcome(None, ERROR, _first_line(error).removeprefix("pattern: "))


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
