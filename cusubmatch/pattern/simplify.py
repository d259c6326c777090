"""The edges and inline properties of a pattern as they are kept: each edge once, and properties as conditions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from cusubmatch.errors import PatternError
from cusubmatch.pattern.elements import Element, generated_name
from cusubmatch.pattern.parser import ColumnValue, PatternEdge

if TYPE_CHECKING:
    from cusubmatch.pattern.expressions import Expression

__all__ = ["expressions_of", "one_edge_of_each"]


def one_edge_of_each(
    edges: Iterable[PatternEdge], properties: Iterable[ColumnValue]
) -> tuple[tuple[PatternEdge, ...], list[int]]:
    """Undirected edges from the lower vertex to the higher one, and no plain edge beside another of its kind.

    An edge is plain if it has neither a name nor properties: one with the same ends and labels says all that it says.
    The list has the new position of each edge.
    """
    conditioned = {one.element.index for one in properties if one.element.kind == "edge"}
    kept: list[PatternEdge] = []
    places: dict[tuple, int] = {}  # where the first edge of each kind is kept
    plain: set[int] = set()
    positions = []
    for index, edge in enumerate(edges):
        if not edge.directed and edge.source > edge.target:
            edge = edge._replace(source=edge.target, target=edge.source)  # noqa: PLW2901
        place, is_plain = places.setdefault(edge[:4], len(kept)), edge.name is None and index not in conditioned
        if place == len(kept):
            kept.append(edge)
            plain |= {place} if is_plain else set()
        elif place in plain:
            kept[place] = edge
            plain -= set() if is_plain else {place}
        elif not is_plain:
            place = len(kept)
            kept.append(edge)
        positions.append(place)
    return tuple(kept), positions


def expressions_of(
    properties: Iterable[ColumnValue],
    positions: Sequence[int],
    names: Sequence[Hashable | None],
    edges: Sequence[PatternEdge],
) -> list[Expression]:
    """Inline properties as comparisons; anonymous elements are called by their generated names."""
    from cusubmatch.pattern.expressions import Comparison, Property

    used = {*names, *(edge.name for edge in edges)}
    conditions: list[Expression] = []
    for element, column, value in properties:
        if element.kind == "edge":
            element = Element("edge", positions[element.index])  # noqa: PLW2901
        name = names[element.index] if element.kind == "vertex" else edges[element.index].name
        if name is None:
            name = generated_name(element)
            if name in used:
                raise PatternError(
                    f"pattern: the name {name!r} is kept for an anonymous {element.kind} with properties"
                )
        conditions.append(Comparison("=", Property(name, column), value))  # type: ignore[arg-type]
    return conditions
