"""The edges and inline properties of a pattern as they are kept: each edge once, and properties as conditions."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from cusubmatch.errors import PatternError
from cusubmatch.pattern.elements import Element, generated_name
from cusubmatch.pattern.parser import ColumnValue, PatternEdge

if TYPE_CHECKING:
    from cusubmatch.pattern.expressions import Expression

__all__ = ["edges_with_properties", "expressions_of", "one_edge_of_each"]


def edges_with_properties(
    edges: Sequence[PatternEdge], properties: Iterable[ColumnValue], conditions: Iterable[Expression]
) -> set[int]:
    """The anonymous edges that properties, or conditions made of them before, name."""
    found = {one.element.index for one in properties if one.element.kind == "edge"}
    if conditions:
        from cusubmatch.pattern.conditions import elements_in

        names = elements_in(conditions)
        found |= {index for index in range(len(edges)) if generated_name(Element("edge", index)) in names}
    return found


def one_edge_of_each(
    edges: Iterable[PatternEdge], kept_apart: Collection[int]
) -> tuple[tuple[PatternEdge, ...], list[int]]:
    """Undirected edges from the lower vertex to the higher one, and no plain edge beside another of its kind.

    An edge is plain if it has no name and is not `kept_apart` for its properties: one with the same ends and labels
    says all that it says. The list has the new position of each edge.
    """
    kept: list[PatternEdge] = []
    places: dict[tuple, int] = {}  # where the first edge of each kind is kept
    plain: set[int] = set()
    positions = []
    for index, edge in enumerate(edges):
        if not edge.directed and edge.source > edge.target:
            edge = edge._replace(source=edge.target, target=edge.source)  # noqa: PLW2901
        place, is_plain = places.setdefault(edge[:4], len(kept)), edge.name is None and index not in kept_apart
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
