"""The parts of a pattern, checked and in the form in which patterns keep and compare them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cusubmatch.pattern.checks import MAX_VERTICES, check_pattern
from cusubmatch.pattern.elements import elements_of
from cusubmatch.pattern.optional_parts import check_optional_parts
from cusubmatch.pattern.parser import ColumnValue, PatternEdge
from cusubmatch.pattern.quantifiers import Quantifier, check_quantifiers
from cusubmatch.pattern.simplify import conditions_of, one_edge_of_each, special_edges

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
) -> Parts:
    """Check what a pattern shall be made of; each edge and each condition is kept once.

    `properties` and `where`, a text or an expression, become conditions.
    """
    check_pattern(names, edges, distinct)
    check_quantifiers(quantifiers, len(names), MAX_VERTICES)
    kept, positions = one_edge_of_each(edges, special_edges(edges, properties, conditions, quantifiers))
    conjuncts: tuple[Expression, ...] = ()
    if properties or conditions or where is not None:
        elements = elements_of(names, kept)
        conjuncts, different = conditions_of(names, kept, elements, properties, positions, conditions, where)
        distinct = [*distinct, *different]
    pairs = frozenset((min(pair), max(pair)) for pair in distinct)
    quantifiers = tuple(one._replace(edge=positions[one.edge]) for one in quantifiers)
    if optional:
        check_optional_parts(names, kept, optional, MAX_VERTICES)
    return Parts(names, labels, kept, pairs, conjuncts, quantifiers, optional)
