"""Edges that stand for paths of several lengths, `-[:T]->{1,3}` or `-[:T*1..3]->`, and the patterns they stand for.

A match of a pattern with such edges is a match of one of its expansions: the pattern in which each of them is a path of
one of its lengths, whose inner vertices are anonymous. A count is the sum over all expansions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, NamedTuple

from cusubmatch.errors import PatternError

__all__ = ["Quantifier", "bounds_of", "check_quantifiers", "expanded"]

MAX_LENGTH = 8
MAX_EXPANSIONS = 1_000


class Quantifier(NamedTuple):
    """How many edges the path of an edge has: from `least` to `most`."""

    edge: int
    least: int
    most: int


def bounds_of(text: str) -> tuple[int, int]:
    """The least and greatest length that `{1,3}`, `{2}`, `*1..3`, `*..3` or `*2` stand for."""
    parts = re.fullmatch(r"\{([0-9]*)(,?)([0-9]*)\}|\*([0-9]*)((?:\.\.)?)([0-9]*)", re.sub(r"\s", "", text))
    if parts is None:
        raise ValueError(f"the lengths of a path are whole numbers, got {text}")
    first, separator, last = parts.groups()[3 * text.startswith("*") :][:3]
    if not (last if separator else first):
        raise ValueError(f"a path without an upper bound is not supported; write for example {{1,{MAX_LENGTH}}}")
    most = int(last if separator else first)
    least = int(first or text.startswith("*"))
    if not 1 <= least <= most <= MAX_LENGTH:
        raise ValueError(f"the lengths of a path are 1 to {MAX_LENGTH}, the least one first, got {least} to {most}")
    return least, most


def check_quantifiers(quantifiers: Iterable[Quantifier], size: int, largest: int) -> None:
    """Refuse more paths than can be counted one by one; `size` is the number of vertices without inner ones."""
    inner = sum(one.most - 1 for one in quantifiers)
    if size + inner > largest:
        raise PatternError(
            f"pattern: with the inner vertices of its longest paths it has {size + inner} vertices; at most {largest} "
            "are supported, so shorten its paths"
        )
    if (expansions := math.prod(one.most - one.least + 1 for one in quantifiers)) > MAX_EXPANSIONS:
        raise PatternError(
            f"pattern: its paths have {expansions} combinations of lengths, more than {MAX_EXPANSIONS}; narrow some"
        )


def expanded(pattern, *, unique: bool, colours: Mapping[int, Hashable] | None = None) -> tuple:
    """The patterns that a pattern with quantified edges stands for, the shortest paths first.

    With `unique` one is left of those that automorphisms of the pattern exchange, such as lengths 1 and 2, and 2 and 1,
    on the two sides of an undirected path. Automorphisms keep the values that vertices have in `colours`.
    """
    if not pattern.quantifiers:
        return (pattern,)
    by_form: dict[Any, tuple[int, ...]] = {}
    for lengths in product(*(range(one.least, one.most + 1) for one in pattern.quantifiers)):
        key = _with_paths(pattern, lengths, colours or {}).automorphisms.form() if unique else lengths
        by_form.setdefault(key, lengths)
    return tuple(_with_paths(pattern, lengths) for lengths in by_form.values())


def _with_paths(pattern, lengths, colours=None):
    """The pattern with paths of some lengths.

    With `colours` it has labels that tell what of it is a path and of which kind, and what vertices have in `colours`.
    """
    names, labels = list(pattern.names), list(pattern.labels)
    quantified = {one.edge: one for one in pattern.quantifiers}
    plain = [edge for index, edge in enumerate(pattern.edges) if index not in quantified]
    if colours is not None:
        labels = [frozenset([("vertex", some, colours.get(vertex))]) for vertex, some in enumerate(labels)]
        plain = [edge._replace(labels=frozenset([("edge", edge.labels)])) for edge in plain]
    paths = []
    for (index, (_, *bounds)), length in zip(quantified.items(), lengths, strict=True):
        edge = pattern.edges[index]
        if colours is not None:
            edge = edge._replace(labels=frozenset([("path", *bounds, edge.labels)]))
        inner = range(len(names), len(names) + length - 1)
        names += [None] * len(inner)
        labels += [None] * len(inner)
        stops = [edge.source, *inner, edge.target]
        paths += [edge._replace(source=a, target=b) for a, b in pairwise(stops)]
    conditions = _renumbered(pattern, quantified)
    kept = pattern.distinct, (), conditions, (), None, pattern.optional, pattern.exists
    return pattern.of_parts(tuple(names), tuple(labels), [*plain, *paths], *kept)


def _renumbered(pattern, quantified) -> Sequence:
    """The conditions, anonymous edges called by their places among the edges that stay."""
    from cusubmatch.pattern.elements import Element, generated_name
    from cusubmatch.pattern.expressions import Property, rebuilt

    staying = [index for index in range(len(pattern.edges)) if index not in quantified]
    names = {
        generated_name(Element("edge", old)): generated_name(Element("edge", new)) for new, old in enumerate(staying)
    }

    def change(part):
        if isinstance(part, Property) and part.element in names:
            return replace(part, element=names[part.element])
        return part

    return [rebuilt(condition, change) for condition in pattern.conditions]
