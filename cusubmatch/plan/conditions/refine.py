"""A pattern with conditions on single elements, as a pattern with labels on a graph whose labels are refined by masks.

The graph shares its rows with the original; only its label codes are new. A pattern vertex with conditions asks for the
codes under its mask, and for a value that no code has and that names the conditions and the labels: vertices of which
different things are asked stay different for the automorphisms, even where the same vertices fulfil both. So does one
with a label that the graph does not have.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from cusubmatch.graph import Graph
from cusubmatch.graph.properties import arcs_of_rows, tables_of
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.elements import Element
from cusubmatch.pattern.expressions import Expression
from cusubmatch.pattern.language.expression_text import expression_text
from cusubmatch.plan.conditions.compile_program import compile_program
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.evaluate import holds
from cusubmatch.plan.conditions.refined_labels import RefinedLabels
from cusubmatch.plan.conditions.split import SplitConditions
from cusubmatch.plan.constraints import check_suits

__all__ = ["Refined", "VertexMask", "mask_of", "refine"]


class VertexMask(NamedTuple):
    """A mask of vertices that is no condition of the pattern: candidates, or what is not to be touched.

    Attributes
    ----------
    key : hashable
        Equal for equal masks.
    mask : bool array (n,)
        Where the graph's arrays lie.
    text : str
    """

    key: Hashable
    mask: Any
    text: str


class Refined(NamedTuple):
    """What is matched instead.

    Attributes
    ----------
    graph : Graph
    pattern : Pattern
        Its conditions are the negated edges; all others are in its labels.
    kept : tuple of str
        What each mask keeps, in words.
    words : dict
        Labels of the refined pattern in words.
    """

    graph: Graph
    pattern: Pattern
    kept: tuple[str, ...]
    words: Mapping[frozenset | None, frozenset | None]


def refine(
    pattern: Pattern,
    split: SplitConditions,
    environment: Environment,
    vertex_masks: Mapping[int, Sequence[VertexMask]],
) -> Refined:
    """The refined graph and pattern of conditions on single elements.

    Parameters
    ----------
    pattern : Pattern
    split : SplitConditions
    environment : Environment
        With the graph where the engine works.
    vertex_masks : mapping of int to VertexMasks
        Further masks of pattern vertices.
    """
    graph, kept = environment.graph, list[str]()
    check_suits(pattern, graph)
    asked: dict[str, dict[int, list[VertexMask]]] = {"vertex": {}, "edge": {}}
    for vertex, masks in vertex_masks.items():
        asked["vertex"].setdefault(vertex, []).extend(masks)
    for conditions in split.single:
        mask = mask_of(conditions.element, conditions.conditions, environment)
        text = " AND ".join(map(expression_text, conditions.conditions))
        part = asked[conditions.element.kind].setdefault(conditions.element.index, [])
        part.append(VertexMask(conditions.key, mask, text))
    for condition in split.constant:
        text = expression_text(condition)
        mask = mask_of(Element("vertex", 0), (condition,), environment)
        for vertex in range(len(pattern)):
            asked["vertex"].setdefault(vertex, []).append(VertexMask(text, mask, text))
    vertices = _Side(graph, "vertex", asked["vertex"], kept)
    edges = _Side(graph, "edge", asked["edge"], kept)
    refined = Pattern.__new__(Pattern)
    absent = [
        replace(part, labels=None if part.labels is None else edges.values(part.labels, None)) for part in split.absent
    ]
    labels = tuple(vertices.labels_of(vertex, asked_labels) for vertex, asked_labels in enumerate(pattern.labels))
    pattern_edges = [edge._replace(labels=edges.labels_of(i, edge.labels)) for i, edge in enumerate(pattern.edges)]
    refined._assign(pattern.names, labels, pattern_edges, pattern.distinct, (), absent)  # noqa: SLF001
    view = graph.relabelled(*vertices.of_graph, *edges.of_graph)
    words = vertices.words(pattern.labels, labels) | edges.words(
        [edge.labels for edge in pattern.edges], [edge.labels for edge in pattern_edges]
    )
    words |= {new.labels: old.labels for new, old in zip(absent, split.absent, strict=True)}
    return Refined(view, refined, tuple(kept), words)


def mask_of(element: Element, conditions: Sequence[Expression], environment: Environment) -> Any:
    """Where all conditions on one element are true: a bool array by vertex, or by row of the edge table."""
    graph, mask = environment.graph, None
    rows = graph.n_vertices if element.kind == "vertex" else tables_of(graph).edges.rows
    for condition in conditions:
        program = compile_program(condition, environment)
        true = holds(program, graph.xp, [None] * len(program.elements), rows)
        mask = true if mask is None else mask & true
    return mask


class _Side:
    """The refined labels of vertices, or of edges; the original ones where nothing is asked."""

    def __init__(self, graph: Graph, kind: str, asked: Mapping[int, Sequence[VertexMask]], kept: list[str]):
        xp = graph.xp
        if kind == "vertex":
            codes, self._values, size = graph.vertex_labels, graph.vertex_label_values, graph.n_vertices
            self._codes_of, self._has_a_code_a_label = graph.vertex_label_codes, not graph.has_label_sets
        else:
            codes, self._values, size = graph._edge_labels, graph.edge_label_values, len(graph.targets)  # noqa: SLF001
            self._codes_of, self._has_a_code_a_label = graph.edge_label_codes, True
        self._keys = {index: frozenset(mask.key for mask in masks) for index, masks in asked.items()}
        self._numbers: dict[Hashable, int] = {}
        self._codes, self._refined = codes, None
        self._texts = {index: " AND ".join(mask.text for mask in masks) for index, masks in asked.items()}
        arrays: list[Any] = []
        for index, masks in asked.items():
            together = masks[0].mask
            for mask in masks[1:]:
                together = together & mask.mask
            what = "vertices" if kind == "vertex" else "rows"
            kept.append(f"{self._texts[index]}: {int(xp.count_nonzero(together)):,} of {len(together):,} {what}")
            if self._keys[index] not in self._numbers:
                self._numbers[self._keys[index]] = len(arrays)
                arrays.append(together if kind == "vertex" else _arcs_under(graph, together))
        if arrays:
            self._refined = RefinedLabels(xp, size, codes, len(self._values or ()), arrays)

    @property
    def of_graph(self) -> tuple[Any, list | None]:
        """The codes of the refined graph, and the values that they stand for."""
        if self._refined is None:
            return self._codes, self._values
        return self._refined.codes, list(range(len(self._refined.members)))

    def labels_of(self, index: int, asked: frozenset | None) -> frozenset | None:
        """The labels of a vertex or edge of the refined pattern, from those that it has."""
        key = self._keys.get(index)
        return None if asked is None and key is None else self.values(asked, key)

    def values(self, asked: frozenset | None, key: Hashable | None) -> frozenset:
        """The label values under the conditions with a key of labels that are asked for (None: of any).

        Where other labels may have the same values, and where there are none, one that no code has says what is asked.
        """
        codes = None if asked is None else self._codes_of(asked)
        if self._refined is None:
            found = frozenset((self._values or [])[code] for code in codes or ())
        else:
            found = self._refined.under(None if key is None else self._numbers[key], codes)
        has_code_for_each = self._has_a_code_a_label and len(codes or ()) == len(asked or ())
        return found if found and key is None and has_code_for_each else found | {("asked", asked, key)}

    def words(self, asked: Sequence, refined: Sequence) -> dict[frozenset | None, frozenset | None]:
        """The labels of the refined pattern in words."""
        found: dict[frozenset | None, frozenset | None] = {}
        for index, (old, new) in enumerate(zip(asked, refined, strict=True)):
            text = self._texts.get(index)
            alternatives = "|".join(sorted(map(str, old or ["any"])))
            found[new] = old if text is None else frozenset([f"{alternatives} where {text}"])
        return found


def _arcs_under(graph, rows):
    """Which stored arcs have a row under a mask of rows."""
    xp = graph.xp
    arcs = xp.zeros(len(graph.targets), bool)
    for positions in arcs_of_rows(graph):
        found = positions[rows]
        arcs[found[found >= 0]] = True
    return arcs
