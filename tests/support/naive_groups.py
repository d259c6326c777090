"""The oracle of counts by some pattern vertices."""

from __future__ import annotations

from naive import automorphisms, matches, named_edges


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
