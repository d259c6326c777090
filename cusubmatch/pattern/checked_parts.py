"""The parts of a pattern, checked and in the form in which patterns keep and compare them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cusubmatch.errors import PatternError
from cusubmatch.pattern.checks import MAX_VERTICES, check_pattern
from cusubmatch.pattern.elements import Element, elements_of, generated_name
from cusubmatch.pattern.language.parser import ColumnValue, PatternEdge, parse_condition
from cusubmatch.pattern.optional_parts import check_exists_parts, check_optional_parts
from cusubmatch.pattern.quantifiers import Quantifier, check_quantifiers

if TYPE_CHECKING:
    from cusubmatch.pattern.expressions import Expression

__all__ = ["Parts", "checked_parts"]


class Parts(NamedTuple):
    """What a pattern is made of; the attributes of `Pattern`."""

    names: tuple[Hashable | None, ...]
    labels: tuple[frozenset | None, ...]
    edges: tuple[PatternEdge, ...]
    distinct: frozenset[tuple[int, int]]
    conditions: tuple[Expression, ...]
    quantifiers: tuple[Quantifier, ...]
    optional: tuple[Any, ...]
    exists: tuple[tuple[bool, Any], ...]


def checked_parts(
    names: tuple[Hashable | None, ...],
    labels: tuple[frozenset | None, ...],
    edges: Sequence[PatternEdge],
    distinct: Iterable[tuple[int, int]],
    properties: Sequence[ColumnValue] = (),
    conditions: Sequence[Expression] = (),
    quantifiers: Sequence[Quantifier] = (),
    where: Any = None,
    optional: tuple[Any, ...] = (),
    exists: Sequence[tuple[bool, Any]] = (),
    pattern_of: Callable[[Any], Any] | None = None,
) -> Parts:
    """Check what a pattern shall be made of; each edge and each condition is kept once.

    `properties` and `where`, a text or an expression, become conditions; `pattern_of` makes a pattern of what a text
    says after EXISTS.
    """
    check_pattern(names, edges, distinct)
    check_quantifiers(quantifiers, len(names), MAX_VERTICES)
    kept, positions = _one_edge_of_each(edges, _special_edges(edges, properties, conditions, quantifiers))
    conjuncts: tuple[Expression, ...] = ()
    if properties or conditions or where is not None:
        elements = elements_of(names, kept)
        asked = [where] if where is not None else []
        if isinstance(where, str):
            asked, found = parse_condition(where, elements)
            exists = [*exists, *((wanted, pattern_of(motif)) for wanted, motif in found if pattern_of is not None)]
        everything = [*conditions, *asked]
        conjuncts, different = _conditions_of(names, kept, elements, properties, positions, everything)
        distinct = [*distinct, *different]
    pairs = frozenset((min(pair), max(pair)) for pair in distinct)
    quantifiers = tuple(one._replace(edge=positions[one.edge]) for one in quantifiers)
    if optional:
        check_optional_parts(names, kept, optional, MAX_VERTICES)
    if exists:
        check_exists_parts(names, kept, exists)
        exists = sorted(dict.fromkeys(exists), key=lambda one: (one[0], str(one[1])))
    return Parts(names, labels, kept, pairs, conjuncts, quantifiers, optional, tuple(exists))


def _special_edges(
    edges: Sequence[PatternEdge],
    properties: Iterable[ColumnValue],
    conditions: Iterable[Expression],
    quantifiers: Iterable[Quantifier],
) -> set[int]:
    """The edges that stand for paths, or that properties, or conditions made of them before, name."""
    found = {one.edge for one in quantifiers}
    found |= {one.element.index for one in properties if one.element.kind == "edge"}
    if conditions:
        from cusubmatch.pattern.condition_form import elements_in

        names = elements_in(conditions)
        found |= {index for index in range(len(edges)) if generated_name(Element("edge", index)) in names}
    return found


def _one_edge_of_each(
    edges: Iterable[PatternEdge], kept_apart: Collection[int]
) -> tuple[tuple[PatternEdge, ...], list[int]]:
    """Undirected edges from the lower vertex to the higher one, and no plain edge beside another of its kind.

    An edge is plain if it has no name and is not to be kept apart: one with the same ends and labels says all that it
    says. The list has the new position of each edge.
    """
    kept: list[PatternEdge] = []
    places: dict[tuple, int] = {}  # where the first edge of each kind is kept
    plain: set[int] = set()
    positions = []
    for index, edge in enumerate(edges):
        if not edge.directed and edge.source > edge.target:
            edge = edge._replace(source=edge.target, target=edge.source)  # noqa: PLW2901
        position, is_plain = places.setdefault(edge[:4], len(kept)), edge.name is None and index not in kept_apart
        if position == len(kept):
            kept.append(edge)
            plain |= {position} if is_plain else set()
        elif position in plain:
            kept[position] = edge
            plain -= set() if is_plain else {position}
        elif not is_plain:
            position = len(kept)
            kept.append(edge)
        positions.append(position)
    return tuple(kept), positions


def _conditions_of(
    names: Sequence[Hashable | None],
    edges: Sequence[PatternEdge],
    elements: Mapping[Hashable, Sequence[Element]],
    properties: Iterable[ColumnValue],
    positions: Sequence[int],
    conditions: Iterable[Expression],
) -> tuple[tuple[Expression, ...], list[tuple[int, int]]]:
    """The conditions of a pattern with these vertices and edges, and the pairs of vertices that must differ.

    `properties` name edges by their old places, of which `positions` has the new ones.
    """
    from cusubmatch.pattern.condition_form import merged_conditions

    own_names = {"vertex": names, "edge": [edge.name for edge in edges]}
    everything = [*_comparisons(own_names, elements, properties, positions), *conditions]
    return merged_conditions(everything, elements)


def _comparisons(names, elements, properties, positions):
    """Inline properties as comparisons; anonymous elements are called by their generated names."""
    from cusubmatch.pattern.expressions import Comparison, Property

    for (kind, index), column, value in properties:
        element = Element(kind, positions[index] if kind == "edge" else index)
        name = names[kind][element.index]
        if name is None:
            name = generated_name(element)
            if len(elements[name]) > 1:
                raise PatternError(f"pattern: the name {name!r} is kept for an anonymous {kind}")
        yield Comparison("=", Property(name, column), value)
