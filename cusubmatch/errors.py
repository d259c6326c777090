"""What can go wrong, beside wrong patterns (`PatternError`), and what is worth a warning."""

from __future__ import annotations

from typing import Any

__all__ = ["AbsentLabelWarning", "EngineUnavailable", "GraphError", "ResultTooLarge", "TimeLimitExceeded"]


class DeadlinePassed(Exception):
    """The deadline came before the end; what was found so far is in the run (between engines and their callers)."""


class Stopped(Exception):
    """Another thread has ended the work (within engines)."""


class EngineUnavailable(RuntimeError):
    """The engine that was asked for cannot run here; the message says what is missing."""


class GraphError(ValueError):
    """A data graph that cannot be built from what was given."""


class AbsentLabelWarning(UserWarning):
    """A pattern asks for a label that nothing in the graph has; the message names the nearest that there are."""


class ResultTooLarge(MemoryError):
    """The matches do not fit in memory; the message says how many there are."""


class TimeLimitExceeded(TimeoutError):
    """The time limit came first.

    Attributes
    ----------
    partial : DataFrame, int or None
        The rows found until then, or the count so far. A dataframe is made when it is first asked for.
    """

    def __init__(self, message: str, partial: Any = None):
        super().__init__(message)
        self._partial = partial

    @property
    def partial(self) -> Any:
        if callable(self._partial):
            self._partial = self._partial()
        return self._partial
