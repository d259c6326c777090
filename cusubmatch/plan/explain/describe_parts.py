"""What `explain` says of a call that is carried out as several: paths of several lengths, parts, and `touching=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cusubmatch.display.notebook import preformatted
from cusubmatch.pattern import Pattern
from cusubmatch.plan.explain.words import duration

__all__ = ["CallText", "SeveralCallsText"]


class CallText(NamedTuple):
    """One of the calls.

    Attributes
    ----------
    title : str
    plan : Plan or RowPlanText or SeveralCallsText
    """

    title: str
    plan: Any


class SeveralCallsText:
    """What `explain` gives for a pattern that several calls answer.

    Parameters
    ----------
    pattern : Pattern
    asked : str
        What is asked of it, beside what it says itself.
    method : sequence of str
        How the answers become one.
    calls : sequence of CallText

    Attributes
    ----------
    cost : float
        Nanoseconds, estimated, of all calls.
    """

    def __init__(self, pattern: Pattern, asked: str, method: Sequence[str], calls: Sequence[CallText]):
        self.pattern, self._asked, self._method, self.calls = pattern, asked, tuple(method), tuple(calls)
        self.cost: float = sum(getattr(call.plan, "count_cost", call.plan.cost) for call in calls)

    @property
    def engine(self) -> str:
        """Where the first of them runs."""
        return self.calls[0].plan.engine

    def __str__(self) -> str:
        lines = [f"{self.pattern!r}{self._asked}", *self._method]
        for number, call in enumerate(self.calls, 1):
            lines += [
                "",
                f"call {number}: {call.title}",
                *(f"    {line}".rstrip() for line in str(call.plan).split("\n")),
            ]
        return "\n".join([*lines, "", f"estimated time of all calls: {duration(self.cost)}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformatted(str(self))
