"""A plan that walks rows of the edge table, in words: which edge each step binds, from where, and in which window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cusubmatch.display.notebook import preformatted
from cusubmatch.pattern import Pattern
from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.explain.words import duration, vertex_names
from cusubmatch.plan.rows.root_orders import other_order
from cusubmatch.plan.rows.row_plan import RowPlan, RowStep

__all__ = ["AppliedCondition", "RowPlanText"]

LEAF = {
    "rows": "matches are written",
    "visit": "matches are counted one by one",
    "count": "the last step is counted, not walked",
    "pairs": "the last two steps are counted together, not walked",
}


class AppliedCondition(NamedTuple):
    """A condition on several vertices or edges, as text, and the pattern vertices and edges that it names.

    Attributes
    ----------
    text : str
    vertices, edges : frozenset of int
    kind : str
        "time" for bounds between times, "column" for a window on a column of edges: both cut windows, by which rows are
        found. "program" is tested where the last of its names is bound.
    """

    text: str
    vertices: frozenset[int]
    edges: frozenset[int]
    kind: str


class RowPlanText:
    """What `explain` gives for a plan that walks rows.

    Parameters
    ----------
    pattern : Pattern
    plan : RowPlan
    conditions : sequence of AppliedCondition
    kept : sequence of str
        What masks keep.
    candidates : sequence of (float, float)
        For each step what it finds for a partial match, with its window and its conditions and without them.
    engine : str

    Attributes
    ----------
    cost : float
        Nanoseconds, estimated.
    """

    def __init__(
        self,
        pattern: Pattern,
        plan: RowPlan,
        conditions: Sequence[AppliedCondition],
        kept: Sequence[str],
        candidates: Sequence[tuple[float, float]],
        engine: str,
    ):
        self.pattern, self._plan, self._conditions = pattern, plan, conditions
        self._kept, self._candidates, self.engine = kept, candidates, engine
        self.cost = plan.cost

    def __str__(self) -> str:
        plan, asked = self._plan, self._plan.pattern
        names, edges = vertex_names(self.pattern), self._edge_names()
        wanted = "a match is its vertices" if asked.existential else "a match has a row for each named edge"
        lines = [f"{self.pattern!r}", f"by rows of the edge table; {wanted}; {LEAF[plan.leaf]}"]
        lines.append(f"engine: {self.engine}")
        if self._kept:
            lines += ["conditions, as masks made before the search, keep", *(f"         {text}" for text in self._kept)]
        lines.append("")
        bound: list[int] = []
        for number, (step, found) in enumerate(zip(plan.steps, self._candidates, strict=True), 1):
            lines.append(
                f"{number}. {self._step(step, names, edges)}{self._window(step, bound, edges)}{_expected(*found)}"
            )
            bound += step.edges
            lines += [f"         WHERE {condition}" for condition in self._applied_at(number)]
        lines += self._divided(edges)
        lines += ["", f"estimated time: {duration(plan.cost)}"]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformatted(str(self))

    def _applied_at(self, number: int) -> list[str]:
        """The conditions whose last name the step of a number binds."""
        before, now = (
            (
                {vertex for step in self._plan.steps[:end] for vertex in step.binds},
                {edge for step in self._plan.steps[:end] for edge in step.edges},
            )
            for end in (number - 1, number)
        )
        return [
            f"{condition.text}: {self._applied(condition.kind)}"
            for condition in self._conditions
            if (condition.vertices <= now[0] and condition.edges <= now[1])
            and not (condition.vertices <= before[0] and condition.edges <= before[1])
        ]

    def _divided(self, edges: list[str]) -> list[str]:
        """Whether rows of the first step may go on in another order, which the GPU engine decides row by row."""
        asked, steps = self._plan.pattern, self._plan.steps
        other = other_order(asked, steps) if self.engine == "gpu" and self._plan.leaf == "count" else None
        if other is None:
            return []
        first, then = (edges[step.edges[0]] for step in other[-2:])
        return [f"   with many rows each goes on in this order, or with {first} before {then} if that is shorter"]

    @property
    def _order(self) -> str:
        """What rows lie in the order of."""
        windows = self._plan.pattern.column_windows
        return windows.column if windows is not None and self._plan.by_column else "time"

    def _applied(self, kind: str) -> str:
        """How a condition is applied."""
        windows, by_column = self._plan.pattern.column_windows, self._plan.by_column
        if kind == "program" or (kind == "column" and windows is None):
            return "tested here"
        name = windows.column if windows is not None and kind == "column" else "time"
        return f"cuts the window of {name}" if (kind == "column") == by_column else f"a window of {name}, tested here"

    def _edge_names(self) -> list[str]:
        return [
            f"edge {number}" if edge.name is None else edge.name for number, edge in enumerate(self.pattern.edges, 1)
        ]

    def _step(self, step: RowStep, names: list[str], edges: list[str]) -> str:
        rows = " and ".join(edges[edge] for edge in step.edges)
        vertices = ", ".join(names[vertex] for vertex in step.binds)
        match step.kind:
            case "rows":
                return f"all rows of {rows}: {vertices}"
            case "vertices":
                return f"all vertices: {vertices}"
            case "scan":
                return f"rows of {rows} at {names[step.start]} in order of {self._order}: {vertices}"
            case "close":
                return f"rows of {rows} between two vertices"
            case "neighbours":
                return f"vertices that {rows} leads to from {names[step.start]}, each once: {vertices}"
            case "arc":
                return f"whether {rows} exists between two vertices"
        return f"rows of {rows} from {names[step.start]} back to the first vertex, kept while the window slides on"

    def _window(self, step: RowStep, bound: list[int], edges: list[str]) -> str:
        """How far the times of the rows of a step may be from those that are bound."""
        most, parts = self._plan.pattern.windows, []
        for f in step.edges:
            for e in bound:
                low, high = -most[f][e], most[e][f]
                least = [f"at least {low:,}"] if low > -NO_BOUND else []
                bounds = [*least, f"at most {high:,}"] if high < NO_BOUND else least
                if bounds:
                    parts.append(f"{edges[f]} - {edges[e]} {' and '.join(bounds)}")
        return f"; window {'; '.join(parts)}" if parts else ""


def _expected(some: float, every: float) -> str:
    """What a step finds for a partial match."""
    without = f", {every:,.3g} without its conditions" if every > some else ""
    return f"   ~{some:,.3g} candidates for each{without}"
