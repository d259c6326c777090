"""The oracle: the three semantics, written so that a reader can check them by eye.

A data graph is a list of rows; a mapping is a tuple whose i-th entry is the image of pattern vertex i. `is_embedding`
is the definition, one rule after another; `embeddings` tries every vertex for every pattern vertex and drops a prefix
as soon as the definition fails on it. Symmetry is by brute force over all permutations. Nothing here is fast, clever or
shared with the package: a pattern is read only through its public `names`, `labels`, `edges` and `distinct`.
"""

from __future__ import annotations

from itertools import permutations

SEMANTICS = ("monomorphism", "induced", "homomorphism")


class NaiveGraph:
    """Rows `(a, b)` or `(a, b, label)`, vertex labels and vertices that no row needs to name.

    `arcs[a, b]` is the set of labels of the edges from a to b (None where a row has none); an undirected row is an arc
    each way. Self loops are left out, though their vertex exists; a set holds a repeated row once.
    """

    def __init__(self, rows, directed, labels=None, isolated=()):
        self.labels = dict(labels or {})
        self.vertices = list(dict.fromkeys([*isolated, *self.labels, *(end for row in rows for end in row[:2])]))
        self.arcs = {}
        for row in rows:
            a, b, label = row if len(row) == 3 else (*row, None)
            if a != b:
                self.arcs.setdefault((a, b), set()).add(label)
                if not directed:
                    self.arcs.setdefault((b, a), set()).add(label)

    def has_edge(self, a, b, alternatives):
        """Whether an edge runs from a to b whose label is one of `alternatives` (None: whatever its label)."""
        present = self.arcs.get((a, b), set())
        return bool(present) if alternatives is None else not present.isdisjoint(alternatives)


def is_embedding(graph, pattern, image, semantics):
    """Whether mapping pattern vertex i to `image[i]` keeps every rule; a shorter `image` is judged on what it maps."""
    mapped = range(len(image))

    if semantics == "homomorphism":
        if any(image[i] == image[j] for i, j in pattern.distinct if i in mapped and j in mapped):
            return False
    elif len(set(image)) < len(image):
        return False

    for i in mapped:
        if pattern.labels[i] is not None and graph.labels.get(image[i]) not in pattern.labels[i]:
            return False

    joined = set()
    for edge in pattern.edges:
        joined.add((edge.source, edge.target))
        if not edge.directed:
            joined.add((edge.target, edge.source))
        if edge.source in mapped and edge.target in mapped:
            a, b = image[edge.source], image[edge.target]
            forward = graph.has_edge(a, b, edge.labels)
            backward = not edge.directed and graph.has_edge(b, a, edge.labels)
            if not forward and not backward:
                return False

    if semantics == "induced":
        for i, j in permutations(mapped, 2):
            if (i, j) not in joined and graph.has_edge(image[i], image[j], None):
                return False
    return True


def embeddings(graph, pattern, semantics, image=()):
    """Every embedding, as tuples of data vertices in the order of the pattern's vertices."""
    if len(image) == len(pattern.names):
        yield image
        return
    for vertex in graph.vertices:
        longer = (*image, vertex)
        if is_embedding(graph, pattern, longer, semantics):
            yield from embeddings(graph, pattern, semantics, longer)


def automorphisms(pattern):
    """All permutations s of the pattern's vertices that keep labels and edges, with their direction and edge labels."""

    def edge_set(s):
        ends = ((s[e.source], s[e.target], e) for e in pattern.edges)
        return {((a, b) if e.directed else frozenset((a, b)), e.labels) for a, b, e in ends}

    vertices = range(len(pattern.names))
    return [
        s
        for s in permutations(vertices)
        if all(pattern.labels[i] == pattern.labels[s[i]] for i in vertices) and edge_set(s) == edge_set(vertices)
    ]


def canonical(image, symmetries):
    """The least member of an embedding's orbit: equal for two exactly if an automorphism takes one to the other."""
    return min(tuple(image[i] for i in s) for s in symmetries)


def matches(graph, pattern, semantics, unique=None):
    """The truth as a list: every embedding, or with `unique` the canonical form of each orbit."""
    if unique is None:
        unique = semantics != "homomorphism"
    found = list(embeddings(graph, pattern, semantics))
    if not unique:
        return found
    if semantics == "homomorphism":
        raise ValueError("unique: homomorphisms have no unique=True")
    symmetries = automorphisms(pattern)
    return sorted({canonical(image, symmetries) for image in found})


def sorted_rows(graph, pattern, semantics):
    """Of each orbit the least of its rows, a row being the images of the named vertices; in order."""
    named = [i for i, name in enumerate(pattern.names) if name is not None]
    symmetries = automorphisms(pattern)
    found = embeddings(graph, pattern, semantics)
    orbits = {frozenset(tuple(image[i] for i in s) for s in symmetries) for image in found}
    return sorted(min(tuple(image[i] for i in named) for image in orbit) for orbit in orbits)
