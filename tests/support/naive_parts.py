"""The oracle of parts of a pattern, after EXISTS and OPTIONAL: what makes two of them the same for symmetry."""

from __future__ import annotations

from itertools import permutations

from naive_conditions import shape


def vertex_name(pattern, i):
    """What conditions call a vertex."""
    return f"({i})" if pattern.names[i] is None else pattern.names[i]


def edge_name(pattern, i):
    """What conditions call an edge."""
    return f"[{i}]" if pattern.edges[i].name is None else pattern.edges[i].name


def part_shapes(pattern, parts, s):
    """The parts as values: shared vertices by what s maps them to, new ones by a number of their own."""
    shapes = []
    for kind, part in parts:
        new = [i for i, name in enumerate(part.names) if name is None or name not in pattern.names]
        own = {i: ("shared", s[pattern.names.index(name)]) for i, name in enumerate(part.names) if i not in new}
        shapes.append(
            (kind, min(_part_shape(part, own | dict(zip(new, order, strict=True))) for order in _orders(new)))
        )
    return sorted(shapes, key=repr)


def _orders(new):
    return [[("new", place) for place in order] for order in permutations(range(len(new)))]


def _part_shape(part, place):
    lengths = {edge: bounds for edge, *bounds in part.quantifiers}
    edges = []
    for i, edge in enumerate(part.edges):
        ends = [place[edge.source], place[edge.target]]
        ends = ends if edge.directed else sorted(ends)
        edges.append((edge.directed, ends, sorted(edge.labels or []), edge.labels is None, lengths.get(i)))
    vertices = sorted((place[i], sorted(labels or []), labels is None) for i, labels in enumerate(part.labels))
    names = {vertex_name(part, i): place[i] for i in place}
    names |= {edge_name(part, i): ("edge", i) for i in range(len(part.edges))}
    conditions = sorted(repr(shape(condition, names.__getitem__)) for condition in part.conditions)
    return repr((vertices, sorted(edges, key=repr), conditions))
