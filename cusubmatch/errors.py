"""Errors and warnings of the package. All errors that a caller may see are a `CusubmatchError`."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AbsentIdWarning",
    "AbsentLabelWarning",
    "ClusterError",
    "CusubmatchError",
    "EngineUnavailable",
    "GraphError",
    "PatternError",
    "ResultTooLarge",
    "TimeLimitExceeded",
]


class DeadlinePassed(Exception):
    """The deadline came before the end of a run, which keeps its partial result (within the package)."""


class Stopped(Exception):
    """Another thread has ended the work (within engines)."""


class CusubmatchError(Exception):
    """The base class of the errors of this package."""


class EngineUnavailable(CusubmatchError, RuntimeError):
    """The engine that was asked for cannot run here; the message says what is missing."""


class GraphError(CusubmatchError, ValueError):
    """The arguments do not make a data graph; the message names the argument and what would do."""


class PatternError(CusubmatchError, ValueError):
    """The arguments do not make a pattern; where it is a text, the message marks the position."""


class AbsentIdWarning(UserWarning):
    """Some ids of an argument are not in the graph; the message says how many."""


class AbsentLabelWarning(UserWarning):
    """Nothing in the graph has a label of the pattern; the message names the most similar labels."""


class ClusterError(CusubmatchError, RuntimeError):
    """There is no cluster to work on, or it was lost; the message says what would do."""


class ResultTooLarge(CusubmatchError, MemoryError):
    """The matches do not fit in memory; the message says how many there are."""


class TimeLimitExceeded(CusubmatchError, TimeoutError):
    """The time limit ended the search.

    Attributes
    ----------
    partial : DataFrame, int or None
        The rows found so far, or the count so far. A dataframe is made when it is first asked for.
    """

    def __init__(self, message: str, partial: Any = None):
        super().__init__(message)
        self._partial = partial

    @property
    def partial(self) -> Any:
        if callable(self._partial):
            self._partial = self._partial()
        return self._partial
