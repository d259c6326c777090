"""The pattern as a coloured graph, whose automorphisms are those of the pattern.

Vertices have colours (their labels) and ordered pairs have codes (the edges between them). With conditions there are
further points: one for each edge that they name, and those of `condition_points.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.pattern.elements import element_named

__all__ = ["canonical_key", "edge_automorphisms", "vertex_automorphisms"]

MOST_WAYS = 64  # of writing a pattern down; one with more has no key


def vertex_automorphisms(pattern) -> AutomorphismGroup:
    """The automorphisms as they act on the vertices; edges that conditions name go along."""
    return ColouredGraph(pattern, ()).group(len(pattern))


def edge_automorphisms(pattern) -> AutomorphismGroup:
    """The automorphisms as they act on the vertices and, numbered after them, the named edges."""
    named = [index for index, edge in enumerate(pattern.edges) if edge.name is not None]
    return ColouredGraph(pattern, named).group(len(pattern) + len(named))


def canonical_key(pattern) -> Hashable | None:
    """A value that patterns share exactly if one is the other with its vertices renamed, labels being the same.

    None for patterns with conditions or parts, and for the few of which too much would have to be compared.
    """
    if pattern.conditions or pattern.quantifiers or pattern.parts or pattern.distinct:
        return None
    labels = {label for alternatives in pattern.labels if alternatives is not None for label in alternatives}
    labels |= {label for edge in pattern.edges if edge.labels is not None for label in edge.labels}
    if not all(type(label) in (int, str) for label in labels):  # others may be equal and look different
        return None

    def text(alternatives):
        return None if alternatives is None else sorted(map(repr, alternatives))

    codes: defaultdict[tuple[int, int], str] = defaultdict(str)
    for source, target, directed, kinds, _ in sorted(pattern.edges, key=lambda edge: repr((edge[2], text(edge[3])))):
        codes[source, target] += f"{'out' if directed else 'any'} {text(kinds)};"
        codes[target, source] += f"{'in' if directed else 'any'} {text(kinds)};"
    colours = [repr(text(alternatives)) for alternatives in pattern.labels]
    form = AutomorphismGroup(colours, codes).form_within(MOST_WAYS)
    return None if form is None else (tuple(sorted(colours)), form)


class ColouredGraph:
    """Points with colours, and codes of ordered pairs of them."""

    def __init__(self, pattern, edges):
        """Points are the vertices, then `edges`, then what conditions need."""
        self.pattern = pattern
        self.numbers: dict[Hashable, int] = {}  # equal labels get one number
        self.colours: list[Hashable] = [self.numbered(labels) for labels in pattern.labels]
        self.codes: dict[tuple[int, int], list[tuple]] = {}
        in_conditions = (element_named(name, self.pattern.elements) for name in pattern.conditioned_names)
        others = {element.index for element in in_conditions if element.kind == "edge"}.difference(edges)
        self.edge_points = {
            index: self._edge_point(pattern.edges[index], index in others) for index in [*edges, *sorted(others)]
        }
        bounds = {edge: bounds for edge, *bounds in pattern.quantifiers}
        kinds = {pattern.edges[index][:4] for index in self.edge_points}
        for index, edge in enumerate(pattern.edges):
            # Names that no condition tells apart are one edge, and none beside one that a condition names.
            if index in bounds or edge[:4] not in kinds:
                kinds |= set() if index in bounds else {edge[:4]}
                labels = (self.numbered(edge.labels), *bounds[index]) if index in bounds else self.numbered(edge.labels)
                self._add(edge.source, edge.target, ("out" if edge.directed else "either", labels))
                self._add(edge.target, edge.source, ("in" if edge.directed else "either", labels))
        if pattern.conditions:
            from cusubmatch.pattern.condition_points import ConditionPoints

            ConditionPoints(self, self._point_of).add(pattern.conditions)

        for part in pattern.optional:
            self._add_part(part, "optional")
        for wanted, part in pattern.exists:
            self._add_part(part, "exists" if wanted else "does not exist")

    def _add_part(self, part, kind):
        """A point for a part, joined to its vertices, which are shared or new, and to its edges."""
        here = self.new_point(kind)
        names: dict[Hashable, int] = {}
        for index, (name, labels) in enumerate(zip(part.names, part.labels, strict=True)):
            shared = self.pattern.elements.get(name, ()) if name is not None else ()
            point = shared[0].index if shared else self.new_point("optional vertex", self.numbered(labels))
            self.join(here, point, ("shared" if shared else "new", self.numbered(labels)))
            names[index] = point
        bounds = {edge: bounds for edge, *bounds in part.quantifiers}
        edges = []
        for index, edge in enumerate(part.edges):
            labels = self.numbered(edge.labels)
            edges.append(self.new_point("optional edge", edge.directed, labels, *bounds.get(index, ())))
            self.join_ends(edges[index], names[edge.source], names[edge.target], edge.directed)
            self.join(here, edges[index], ("edge",))
        if part.conditions:
            from cusubmatch.pattern.condition_points import ConditionPoints

            def point_of(name):
                element = element_named(name, part.elements)
                return names[element.index] if element.kind == "vertex" else edges[element.index]

            ConditionPoints(self, point_of).add(part.conditions)

    def group(self, size):
        """The group of the coloured graph on its first points."""
        texts = {cell: tuple(sorted(map(repr, cell))) for cell in set(map(tuple, self.codes.values()))}
        codes = {pair: texts[tuple(cell)] for pair, cell in self.codes.items()}
        return AutomorphismGroup(self.colours, codes, size)

    def numbered(self, labels):
        if labels is None:
            return None
        return tuple(sorted(self.numbers.setdefault(label, len(self.numbers)) for label in labels))

    def new_point(self, *colour):
        self.colours.append(colour)
        return len(self.colours) - 1

    def _add(self, source, target, code):
        self.codes.setdefault((source, target), []).append(code)

    def join(self, source, target, code):
        """Join two points, so that refinement sees it from either."""
        self._add(source, target, ("to", *code))
        self._add(target, source, ("from", *code))

    def join_ends(self, point, source, target, directed):
        self.join(point, source, ("source",) if directed else ("end",))
        self.join(point, target, ("target",) if directed else ("end",))

    def _edge_point(self, edge, in_condition_only):
        point = self.new_point("edge", in_condition_only, edge.directed, self.numbered(edge.labels))
        self.join_ends(point, edge.source, edge.target, edge.directed)
        return point

    def _point_of(self, name):
        element = element_named(name, self.pattern.elements)
        return element.index if element.kind == "vertex" else self.edge_points[element.index]
