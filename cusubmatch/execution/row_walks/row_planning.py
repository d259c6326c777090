"""What a pattern asks of rows of the edge table: a row pattern, and the rows and masks that it is walked on.

Patterns come here whose conditions compare several vertices or edges, and those whose named edges are bound to rows
(`edges="each"`). What concerns one vertex or one edge is a mask; order and distance of times are windows; what is left
is a program.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.graph.edge_rows import EdgeRows
from cusubmatch.graph.masked_rows import masked_rows
from cusubmatch.graph.properties import edge_column, edge_label_codes, rows_by_either_end, rows_by_end, time_column
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.pattern.elements import Element, element_named
from cusubmatch.pattern.language.expression_text import expression_text
from cusubmatch.plan.asked import Asked
from cusubmatch.plan.conditions.across import AcrossConditions, across_conditions
from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.conditions.condition_program import Program
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.refine import mask_of
from cusubmatch.plan.conditions.split import ElementConditions, SplitConditions
from cusubmatch.plan.constraints import check_suits
from cusubmatch.plan.explain.describe_rows import AppliedCondition
from cusubmatch.plan.rows.row_plan import RowCondition, RowEdge, RowPattern
from cusubmatch.plan.rows.row_statistics import RowStatistics
from cusubmatch.plan.symmetry import ordered_pairs

__all__ = ["RowProblem", "group_of", "row_problem_of", "statistics_of"]

MIN_KEPT_STATISTICS = 4


class RowProblem(NamedTuple):
    """What is walked.

    Attributes
    ----------
    pattern : RowPattern
    prepared : PreparedRows
    conditions : tuple of AppliedCondition
        Those on several elements, and negated edges.
    kept : tuple of str
        What each mask keeps, in words.
    """

    pattern: RowPattern
    prepared: PreparedRows
    conditions: tuple[AppliedCondition, ...]
    kept: tuple[str, ...]


def row_problem_of(
    asked: Asked, split: SplitConditions, environment: Environment, semantics: str, unique: bool
) -> RowProblem:
    """Translate what is asked of a graph in host memory.

    Parameters
    ----------
    asked : Asked
    split : SplitConditions
    environment : Environment
        With that graph.
    semantics, unique
        As the public functions take them.
    """
    pattern, each = asked.pattern, asked.edges == "each"
    check_suits(pattern, environment.graph)
    size, graph, relations = range(len(pattern)), environment.graph, _Relations(environment)
    masks = [_vertex_mask(asked, split, environment, vertex) for vertex in size]
    across = across_conditions(pattern, split, environment, time_column(graph))
    windows = across.windows
    if windows is None:  # no times fulfil them
        windows = ((NO_BOUND,) * len(pattern.edges),) * len(pattern.edges)
        masks[0] = np.zeros(graph.n_vertices, bool)
    compared = {element for condition in split.across for element in environment.elements_in(condition)}
    row_edges = [
        RowEdge(
            edge.source,
            edge.target,
            relations.of_edge(edge, _conditions_of(split, Element("edge", index)), _column_of(across, index)),
            edge.name is not None if each else Element("edge", index) in compared,
        )
        for index, edge in enumerate(pattern.edges)
    ]
    bound = [index for index, edge in enumerate(row_edges) if edge.bound]
    injective = semantics != "homomorphism"
    pairs = [(u, w) for u in size for w in size if u < w]
    vertex_order, row_order = _restrictions(asked, bound) if unique and injective else ((), ())
    return RowProblem(
        RowPattern(
            n_vertices=len(pattern),
            edges=tuple(row_edges),
            windows=windows,
            distinct=frozenset(pairs) if injective else pattern.distinct,
            vertex_order=vertex_order,
            row_order=row_order,
            different_rows=tuple((p, q) for p in bound for q in bound if p < q) if each else (),
            forbidden=tuple(_forbidden(pattern, split, semantics, relations)),
            conditions=tuple(map(_row_condition, across.programs)),
            existential=not each,
            candidates=tuple(None if mask is None else int(mask.sum()) for mask in masks),
            column_windows=across.column_windows,
        ),
        PreparedRows(tuple(relations.rows), tuple(masks), keys=relations.keys),
        tuple(_applied(pattern, split, environment, across.kinds)),
        (*_kept_vertices(asked, split, masks), *relations.kept),
    )


def _applied(
    pattern: Pattern, split: SplitConditions, environment: Environment, kinds: tuple[str, ...]
) -> Iterator[AppliedCondition]:
    """The conditions on several elements, and what they name."""
    for condition, kind in zip(split.across, kinds, strict=True):
        elements = environment.elements_in(condition)
        vertices = frozenset(element.index for element in elements if element.kind == "vertex")
        edges = frozenset(element.index for element in elements if element.kind == "edge")
        yield AppliedCondition(expression_text(condition), vertices, edges, kind)
    for absent in split.absent:
        ends = (element_named(name, pattern.elements).index for name in (absent.source, absent.target))
        yield AppliedCondition(expression_text(absent), frozenset(ends), frozenset(), "program")


def _kept_vertices(asked: Asked, split: SplitConditions, masks: Sequence[np.ndarray | None]) -> Iterator[str]:
    """What the masks of vertices keep, in words."""
    for vertex, mask in enumerate(masks):
        if mask is not None:
            own, labels = _conditions_of(split, Element("vertex", vertex)), asked.pattern.labels[vertex]
            name = asked.pattern.names[vertex] or ""
            texts = [] if labels is None else [f"{name}:{'|'.join(sorted(map(str, labels)))}"]
            texts += [f"candidates of {name}"] if vertex in asked.candidates else []
            if vertex in asked.touched:
                texts.append("touching" if asked.touched[vertex][0] else "not touching")
            texts += map(expression_text, [*(() if own is None else own.conditions), *split.constant])
            yield f"{' AND '.join(texts)}: {int(mask.sum()):,} of {len(mask):,} vertices"


def statistics_of(prepared: PreparedRows) -> RowStatistics:
    """The statistics of the rows of a problem, kept with its graph."""
    assert prepared.graph is not None  # noqa: S101 - that where the engine works
    cache = prepared.graph.cache
    return cache.get("row statistics", prepared.keys, lambda: RowStatistics(prepared.relations), MIN_KEPT_STATISTICS)


def _conditions_of(split: SplitConditions, element: Element) -> ElementConditions | None:
    """The conditions on one vertex or edge; None if there are none."""
    return next((part for part in split.single if part.element == element), None)


def _column_of(across: AcrossConditions, edge: int) -> str | None:
    """The column that an edge must have a value of, for windows on it."""
    windows = across.column_windows
    if windows is None or edge not in windows.edges or (windows.order.ranks >= 0).all():
        return None
    return windows.column


def _vertex_mask(asked: Asked, split: SplitConditions, environment: Environment, vertex: int) -> np.ndarray | None:
    """The vertices that a pattern vertex may be mapped to; None: all."""
    graph, labels, masks = environment.graph, asked.pattern.labels[vertex], []
    if labels is not None:
        masks.append(graph.labelled(graph.vertex_label_codes(labels)))
    if vertex in asked.candidates:
        masks.append(asked.candidates[vertex].mask(graph))
    if vertex in asked.touched:
        inside, touched = asked.touched[vertex]
        masks.append(touched.mask(graph) == inside)
    element = Element("vertex", vertex)
    own = _conditions_of(split, element)
    if conditions := [*(() if own is None else own.conditions), *split.constant]:
        masks.append(mask_of(element, conditions, environment))
    return np.logical_and.reduce(masks) if masks else None


def _row_condition(program: Program) -> RowCondition:
    """A program, and what it reads."""
    vertices = tuple(element.index for element in program.elements if element.kind == "vertex")
    return RowCondition(vertices, tuple(e.index for e in program.elements if e.kind == "edge"), program)


def group_of(asked: Asked) -> AutomorphismGroup:
    """The automorphisms that keep what is asked, whichever vertices are touched; named edges move if they are bound."""
    pattern = asked.pattern
    if asked.candidates:
        pattern = copy.copy(pattern)
        vars(pattern).pop("automorphisms", None)
        vars(pattern).pop("edge_automorphisms", None)
        pattern.labels = tuple(
            (labels or frozenset()) | {("candidates", asked.candidates[vertex].key)}
            if vertex in asked.candidates
            else labels
            for vertex, labels in enumerate(pattern.labels)
        )
    return pattern.edge_automorphisms if asked.edges == "each" else pattern.automorphisms


def _restrictions(asked: Asked, bound: list[int]) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """The pairs of vertices, and of edges, whose images are in order, so that one match of each orbit remains."""
    group, n = group_of(asked), len(asked.pattern)
    pairs = ordered_pairs(group, range(group.size))
    vertices = tuple(pair for pair in pairs if max(pair) < n)
    return vertices, tuple((bound[i - n], bound[j - n]) for i, j in pairs if min(i, j) >= n)


def _forbidden(
    pattern: Pattern, split: SplitConditions, semantics: str, relations: _Relations
) -> Iterator[tuple[int, int, int]]:
    """The ordered pairs of vertices between which there must be no row, and of which relation."""
    for absent in split.absent:
        source, target = (element_named(name, pattern.elements).index for name in (absent.source, absent.target))
        yield source, target, relations.of_edge(absent, None)
    if semantics == "induced":
        free = {(edge.source, edge.target) for edge in pattern.edges}
        free |= {(edge.target, edge.source) for edge in pattern.edges if not edge.directed}
        for u in range(len(pattern)):
            for w in range(len(pattern)):
                if u != w and (u, w) not in free:
                    yield u, w, relations.all_rows


class _Relations:
    """The rows that pattern edges may take, numbered."""

    def __init__(self, environment: Environment):
        self.environment, self.graph = environment, environment.graph
        self.rows: list[EdgeRows] = []
        self._numbers: dict[Any, int] = {}
        self.kept: list[str] = []  # of rows, in words

    def of_edge(self, edge: Any, own: ElementConditions | None, column: str | None = None) -> int:
        """The number of the rows for an edge with labels, in one or both directions, that fulfil conditions.

        `column`: one in which they have a value.
        """
        both = self.graph.directed and not edge.directed
        return self._number(both, edge.labels, own, column)

    @property
    def all_rows(self) -> int:
        """The number of all rows, in their direction."""
        return self._number(False, None, None, None)

    @property
    def keys(self) -> tuple[Any, ...]:
        """What tells the rows from others of the graph."""
        return tuple(self._numbers)

    def _number(self, both: bool, labels: frozenset | None, own: ElementConditions | None, column: str | None) -> int:
        key = both, labels, None if own is None else own.key, column
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            rows = rows_by_either_end(self.graph) if both else rows_by_end(self.graph)
            mask = self._mask(labels, own, column)
            self.rows.append(rows if mask is None else masked_rows(rows, mask))
        return self._numbers[key]

    def _mask(self, labels: frozenset | None, own: ElementConditions | None, column: str | None) -> np.ndarray | None:
        masks = [] if column is None else [edge_column(self.graph, column).valid]
        if labels is not None:
            wanted = sorted(self.graph.edge_label_codes(labels))
            masks.append(np.isin(edge_label_codes(self.graph), wanted))
        if own is not None:
            masks.append(mask_of(own.element, own.conditions, self.environment))
            text = " AND ".join(map(expression_text, own.conditions))
            self.kept.append(f"{text}: {int(masks[-1].sum()):,} of {len(masks[-1]):,} rows")
        return np.logical_and.reduce(masks) if masks else None
