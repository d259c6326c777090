"""Conditions across elements: what a walk over rows needs of a pattern with conditions on several vertices or edges.

Bounds between the times of edges are difference constraints; every other conjunct is a program, to be run where the
last of the elements that it reads is bound.
"""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.pattern import Pattern
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
    in_windows : tuple of bool
        Which of the conditions are in the windows.
    """

    windows: tuple[tuple[int, ...], ...] | None
    programs: tuple[Program, ...]
    in_windows: tuple[bool, ...] = ()


def across_conditions(
    pattern: Pattern, split: SplitConditions, environment: Environment, time: str | None
) -> AcrossConditions:
    """The conditions of a pattern on several elements; `time` is the graph's column of times, if it has one.

    Raises
    ------
    PatternError, TypeError
        As `compile_program`.
    """
    differences, programs, in_windows = [], [], []
    for condition in split.across:
        found = differences_in(condition, environment, time)
        in_windows.append(found is not None)
        if found is None:
            programs.append(compile_program(condition, environment))
        else:
            differences += found
    return AcrossConditions(closure_of(len(pattern.edges), differences), tuple(programs), tuple(in_windows))
