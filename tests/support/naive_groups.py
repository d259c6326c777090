"""The oracle of counts by some pattern vertices."""

from __future__ import annotations

from collections import Counter
from math import prod

from naive import automorphisms, canonical, extensions, matches, named_edges


def grouped(graph, pattern, by, semantics, unique=None, edges="any", params=None):
    """The matches by the images of some pattern vertices, a mapping of bindings to numbers.

    Without `unique` every embedding counts in the binding that it has. With it a match counts once in each binding that
    an embedding of its orbit has; bindings that automorphisms of the pattern exchange are one, the least of them.
    """
    if unique is None:
        unique = semantics != "homomorphism"
    places = [pattern.names.index(name) for name in by]
    symmetries = automorphisms(pattern, edges) if unique else [range(len(pattern.names) + len(named_edges(pattern)))]
    exchanges = [[places.index(s[i]) for i in places] for s in symmetries if {s[i] for i in places} == set(places)]
    counts = {}
    for image in matches(graph, pattern, semantics, unique, edges, params):
        bindings_of_match = set()
        for s in symmetries:
            binding = [image[s[i]] for i in places]
            bindings_of_match.add(min(tuple(binding[i] for i in order) for order in exchanges))
        for binding in bindings_of_match:
            counts[binding] = counts.get(binding, 0) + 1
    return counts


def grouped_rows(graph, pattern, by, semantics, unique, edges="any"):
    """The rows of a pattern with parts or paths by the images of some of its vertices.

    With `unique` a match, with all its rows, counts once in each binding that it has in some order: of automorphisms of
    the pattern, and of what the pattern is with paths of its lengths.
    """
    places = [pattern.names.index(name) for name in by]
    every = [range(len(pattern.names) + (len(named_edges(pattern)) if edges == "each" else 0))]
    whole = automorphisms(pattern, edges) if unique else every
    exchanges = [[places.index(s[i]) for i in places] for s in whole if {s[i] for i in places} == set(places)]
    counts = Counter()
    for one in pattern.expansions(unique=True) if unique and pattern.quantifiers else [pattern]:
        bound = len(one.names) + (len(named_edges(one)) if edges == "each" else 0)
        symmetries, seen = automorphisms(one, edges) if unique else [range(bound)], set()
        if one is pattern:
            rows = Counter(row[:bound] for row in matches(graph, one, semantics, False, edges))
        else:  # parts need not avoid the inner vertices of paths
            kept = one.distinct, (), one.conditions, (), None, (), one.exists
            found = matches(graph, one.of_parts(one.names, one.labels, one.edges, *kept), semantics, False, edges)
            rows = {match: _rows_of(graph, pattern, match, semantics, edges) for match in found}
        for match, number in rows.items():
            orbit = canonical(match, symmetries)
            if orbit not in seen:
                seen.add(orbit)
                found = [[match[s[w[i]]] for i in places] for s in symmetries for w in whole]
                counts.update(
                    dict.fromkeys({min(tuple(row[i] for i in order) for order in exchanges) for row in found}, number)
                )
    return counts


def _rows_of(graph, pattern, match, semantics, edges):
    """How many rows the parts of a pattern make of a match."""
    image = match[: len(pattern.names)]
    return prod(len(extensions(graph, pattern, part, image, semantics, edges, None)) for part in pattern.optional)
