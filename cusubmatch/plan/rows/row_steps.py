"""Which steps a row walk may take next, and which steps at its end can be counted at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cusubmatch.plan.rows.row_plan import RowPattern, RowStep

__all__ = ["bound_by", "can_be_measured", "can_be_pairs", "first_steps", "leaf_of", "next_steps"]


def first_steps(pattern: RowPattern) -> Iterator[RowStep]:
    """The steps that a walk may begin with."""
    for v in range(pattern.n_vertices):
        yield RowStep("vertices", (), v, (v,))
    if not pattern.existential:
        for e in pattern.bound_edges:
            source, target = pattern.edges[e].ends
            yield RowStep("rows", (e,), source, (source, target))
            yield RowStep("rows", (e,), target, (target, source))


def bound_by(steps: Sequence[RowStep]) -> tuple[set[int], set[int]]:
    """The vertices and the edges that steps bind."""
    return {v for step in steps for v in step.binds}, {e for step in steps for e in step.edges}


def next_steps(pattern: RowPattern, steps: Sequence[RowStep]) -> Iterator[RowStep]:
    """The steps that may follow others; none when all edges are bound."""
    vertices, done = bound_by(steps)
    for e, edge in enumerate(pattern.edges):
        if e in done:
            continue
        takes_row = edge.bound and not pattern.existential
        ends = [end for end in edge.ends if end in vertices]
        if len(ends) == 2:
            yield RowStep("close" if takes_row else "arc", (e,), edge.source, ())
        elif ends:
            other = edge.target if ends[0] == edge.source else edge.source
            yield RowStep("scan" if takes_row else "neighbours", (e,), ends[0], (other,))
    met = any(step.kind == "meet" for step in steps)
    if not met and not pattern.existential and steps[0].kind == "rows":
        yield from _meetings(pattern, steps[0].start, vertices, done)


def _meetings(pattern, group, vertices, done):
    """Steps that look up rows, or paths of two rows, which begin at the vertex that the first step groups by."""
    for f, first in enumerate(pattern.edges):
        if f in done or not first.bound or group not in first.ends:
            continue
        inner = first.target if first.source == group else first.source
        if inner in vertices:
            yield RowStep("meet", (f,), inner, ())
            continue
        for g, second in enumerate(pattern.edges):
            if g not in (f, *done) and second.bound and inner in second.ends:
                end = second.target if second.source == inner else second.source
                if end in vertices and end != group:
                    yield RowStep("meet", (f, g), end, (inner,))


def leaf_of(pattern: RowPattern, steps: Sequence[RowStep]) -> str:
    """How the walk of a count may end: "visit", "count" or "pairs"."""
    if len(steps) == 1:
        return "visit"
    return "pairs" if len(steps) > 2 and can_be_pairs(pattern, *steps[-2:]) else "count"


def can_be_pairs(pattern: RowPattern, one: RowStep, other: RowStep) -> bool:
    """Whether nothing but a window, and different images, joins two last steps, and each is a range of rows."""
    if not {one.kind, other.kind} <= {"scan", "close"} or pattern.column_windows is not None:
        return False
    e, f = one.edges[0], other.edges[0]
    new = {*one.binds, *other.binds}
    if set(pattern.edges[f].ends) & set(one.binds):
        return False
    orders = [set(pair) for pair in (*pattern.row_order, *pattern.compared_rows)]
    if any(pair & {e, f} for pair in orders):
        return False
    if any(set(condition.edges) & {e, f} or set(condition.vertices) & new for condition in pattern.conditions):
        return False
    pairs = [{u, w} for u, w in pattern.vertex_order] + [{u, w} for u, w, _ in pattern.forbidden]
    return len(new) < 2 or new not in pairs


def can_be_measured(pattern: RowPattern, step: RowStep) -> bool:
    """Whether the rows of a last step are counted by windows: only times and different images are asked of them."""
    if step.kind not in ("scan", "close", "arc"):
        return False
    asked = {e for pair in (*pattern.row_order, *pattern.compared_rows) for e in pair}
    asked |= {e for condition in pattern.conditions for e in condition.edges}
    about = {v for pair in pattern.vertex_order for v in pair} | {v for u, w, _ in pattern.forbidden for v in (u, w)}
    about |= {v for condition in pattern.conditions for v in condition.vertices}
    about |= {v for v, size in enumerate(pattern.candidates) if size is not None}
    return not asked & set(step.edges) and not about & set(step.binds)
