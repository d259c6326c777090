"""Conditions across elements: what a walk over rows needs of a pattern with conditions on several vertices or edges.

Bounds between the times of edges are difference constraints; every other conjunct is a program, to be run where the
last of the elements that it reads is bound, unless the walk has it as a window on a column.
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.pattern import Pattern
from cusubmatch.plan.conditions.column_comparisons import column_windows
from cusubmatch.plan.conditions.column_windows import ColumnWindows
from cusubmatch.plan.conditions.compile_program import compile_program
from cusubmatch.plan.conditions.condition_program import Program
from cusubmatch.plan.conditions.differences import closure_of, differences_in
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.split import SplitConditions

__all__ = ["AcrossConditions", "across_conditions"]


class AcrossConditions(NamedTuple):
    """Conditions on several elements.

    Attributes
    ----------
    windows : tuple of tuple of int, or None
        Element [e][f] is the most that time(f) - time(e) may be, `NO_BOUND` for no bound; closed. None: no times do.
    programs : tuple of Program
        All others; `Program.elements` are what each reads.
    column_windows : ColumnWindows or None
        Those of the programs that are windows on one column of edges, by position.
    kinds : tuple of str
        What each condition is: "time" for bounds between times, "column" for a window on a column, else "program".
    """

    windows: tuple[tuple[int, ...], ...] | None
    programs: tuple[Program, ...]
    column_windows: ColumnWindows | None
    kinds: tuple[str, ...]


def across_conditions(
    pattern: Pattern, split: SplitConditions, environment: Environment, time: str | None
) -> AcrossConditions:
    """The conditions of a pattern on several elements; `time` is the graph's column of times, if it has one.

    Raises
    ------
    PatternError, TypeError
        As `compile_program`.
    """
    differences, programs, others = [], [], []
    for condition in split.across:
        found = differences_in(condition, environment, time)
        if found is None:
            programs.append(compile_program(condition, environment))
            others.append(condition)
        else:
            differences += found
    windows = column_windows(len(pattern.edges), others, environment)
    decided = () if windows is None else [others[position] for position in windows.decided]
    return AcrossConditions(
        closure_of(len(pattern.edges), differences),
        tuple(programs),
        windows,
        tuple("column" if c in decided else "program" if c in others else "time" for c in split.across),
    )
