"""The oracle: the three semantics, written so that a reader can check them by eye.

A data graph is a list of rows; a mapping is a tuple whose i-th entry is the image of pattern vertex i. `is_embedding`
is the definition, one rule after another; `embeddings` tries every vertex for every pattern vertex and drops a prefix
as soon as the definition fails on it. Conditions are judged when the image is complete, with rows of the table for the
edges (`bindings`). Symmetry is by brute force over all permutations. Nothing here is fast, clever or shared with the
package: a pattern is read only through its public `names`, `labels`, `edges`, `distinct` and `conditions`.
"""

from __future__ import annotations

from itertools import pairwise, permutations, product
from types import SimpleNamespace

from naive_conditions import shape, value
from naive_parts import edge_name, part_shapes, vertex_name

SEMANTICS = ("monomorphism", "induced", "homomorphism")


class NaiveGraph:
    """Rows `(a, b)` or `(a, b, label)`, vertex labels and vertices that no row needs to name.

    `arcs[a, b]` is the set of labels of the edges from a to b (None where a row has none); an undirected row is an arc
    each way. Self loops are left out, though their vertex exists; a set holds a repeated row once. `columns` has a
    mapping of columns to values for each row, `properties` one for each vertex; what is missing is null.
    """

    def __init__(self, rows, directed, labels=None, isolated=(), columns=None, properties=None):
        self.rows = [row if len(row) == 3 else (*row, None) for row in rows]
        self.directed = directed
        self.columns = [{} for _ in rows] if columns is None else columns
        self.properties = properties or {}
        self.labels = dict(labels or {})
        self.vertices = list(
            dict.fromkeys([*isolated, *self.labels, *self.properties, *(end for row in rows for end in row[:2])])
        )
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

    def rows_of(self, source, target, directed, alternatives):
        """The positions of the rows that are such an edge; undirected ones may run either way."""
        ends = [(source, target)] if directed and self.directed else [(source, target), (target, source)]
        return [
            position
            for position, (a, b, label) in enumerate(self.rows)
            if a != b and (a, b) in ends and (alternatives is None or label in alternatives)
        ]


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


class Match:
    """What the names in conditions stand for: the image of the vertices, a row for each edge of `rows`, parameters."""

    def __init__(self, graph, pattern, image, rows, params):
        self.graph = graph
        self.image = {vertex_name(pattern, i): vertex for i, vertex in enumerate(image)}
        self.rows = {edge_name(pattern, i): row for i, row in rows.items()}
        self.params = params or {}

    def vertex(self, name):
        """The image of a vertex."""
        return self.image[name]

    def columns_of(self, name):
        """The columns of a vertex or of a row."""
        if name in self.image:
            return self.graph.properties.get(self.image[name], {})
        return self.graph.columns[self.rows[name]]

    def joined(self, edge):
        """Whether an edge such as that of `NOT (a)-[:X]->(b)` is there."""
        source, target = self.image[edge.source], self.image[edge.target]
        return bool(self.graph.rows_of(source, target, edge.directed, edge.labels))


def named_edges(pattern):
    """The positions of the edges that `edges="each"` binds to rows."""
    return [i for i, edge in enumerate(pattern.edges) if edge.name is not None]


def bindings(graph, pattern, image, edges, params=None):
    """What an image gives: itself if `edges` is "any", with "each" also the rows of its named edges, each combination.

    All conditions must be true together for some rows of all edges. With "each" the named edges have different rows.
    """
    rows = [graph.rows_of(image[e.source], image[e.target], e.directed, e.labels) for e in pattern.edges]
    for path in pattern.quantifiers:
        rows[path.edge] = [None]
    found = {}
    for combination in product(*rows):
        bound = tuple(combination[i] for i in named_edges(pattern)) if edges == "each" else ()
        if bound in found or len(set(bound)) < len(bound):
            continue
        match = Match(graph, pattern, image, dict(enumerate(combination)), params)
        if all(value(condition, match) is True for condition in pattern.conditions):
            found[bound] = (*image, *bound)
    return list(found.values())


def extensions(graph, pattern, part, image, semantics, edges, params):
    """What an optional part adds to a match: its new named vertices and rows, or one null for each if it has none.

    New vertices differ from those of the match, but for homomorphisms; other parts do not matter.
    """
    known = {name: vertex for name, vertex in zip(pattern.names, image, strict=True) if name is not None}
    shared = {i: known[name] for i, name in enumerate(part.names) if name in known}
    new = [i for i in range(len(part.names)) if i not in shared]
    named = [i for i in new if part.names[i] is not None]
    found = []
    for inner in embeddings_with_paths(graph, part, semantics):
        apart = semantics == "homomorphism" or not any(inner[i] in image for i in new)
        there = all(inner[i] == vertex for i, vertex in shared.items())
        if apart and there and has_what_exists(graph, part, inner, semantics, edges, params):
            rows = bindings(graph, part, inner, edges, params)
            found += [(*(row[i] for i in named), *row[len(part.names) :]) for row in rows]
    width = len(named) + (len(named_edges(part)) if edges == "each" else 0)
    return found or [(None,) * width]


def has_what_exists(graph, pattern, image, semantics, edges, params):
    """Whether all that must exist for a match does, and nothing that must not."""
    how = semantics, edges, params
    return all(exists(graph, pattern, part, image, *how) == wanted for wanted, part in pattern.exists)


def exists(graph, pattern, part, image, semantics, edges, params):
    """Whether a part has a match that agrees with a match on the vertices that they share.

    With `edges` "each" the edges that it names have different rows, as those of the match have.
    """
    known = {name: vertex for name, vertex in zip(pattern.names, image, strict=False) if name is not None}
    for inner in embeddings_with_paths(graph, part, semantics):
        agrees = all(name not in known or known[name] == vertex for name, vertex in zip(part.names, inner, strict=True))
        whole = agrees and has_what_exists(graph, part, inner, semantics, edges, params)
        if whole and bindings(graph, part, inner, edges, params):
            return True
    return False


def embeddings_with_paths(graph, pattern, semantics):
    """Every embedding of the pattern with each quantified edge as a path of each length, less inner vertices."""
    quantified = {path.edge: range(path.least, path.most + 1) for path in pattern.quantifiers}
    for lengths in product(*quantified.values()):
        longer = SimpleNamespace(names=list(pattern.names), labels=list(pattern.labels), distinct=pattern.distinct)
        longer.edges = [edge for i, edge in enumerate(pattern.edges) if i not in quantified]
        for i, length in zip(quantified, lengths, strict=True):
            edge, first = pattern.edges[i], len(longer.names)
            inner = list(range(first, first + length - 1))
            longer.names += [None] * len(inner)
            longer.labels += [None] * len(inner)
            longer.edges += [edge._replace(source=a, target=b) for a, b in pairwise([edge.source, *inner, edge.target])]
        for image in embeddings(graph, longer, semantics):
            yield image[: len(pattern.names)]


def automorphisms(pattern, edges="any"):
    """All permutations s of the pattern's vertices that keep labels and edges, with their direction and edge labels.

    They also keep the conditions, as they are written. With `edges` "each" they are permutations of the vertices and
    the named edges, which are numbered after them.
    """
    if not pattern.conditions and edges == "any":
        kept = [s for s in permutations(range(len(pattern.names))) if _keeps_vertices_and_edges(pattern, s)]
        return [s for s in kept if _keeps_parts(pattern, s)]
    n, named = len(pattern.names), named_edges(pattern)
    moved = range(len(pattern.edges)) if edges == "each" else told_apart(pattern)
    unchanged = _conditions(pattern, range(n), {i: i for i in moved})
    found = {}
    for s in permutations(range(n)):
        if not all(pattern.labels[i] == pattern.labels[s[i]] for i in range(n)):
            continue
        for images in permutations(moved):
            t = dict(zip(moved, images, strict=True))
            if _keeps_edges(pattern, s, t) and (edges == "any" or {t[i] for i in named} == set(named)):
                acted = (*s, *(n + named.index(t[i]) for i in named)) if edges == "each" else s
                if acted not in found and _conditions(pattern, s, t) == unchanged:
                    found[acted] = None
    return [acted for acted in found if _keeps_parts(pattern, acted[:n])]


def _keeps_parts(pattern, s):
    """Whether the parts after EXISTS and OPTIONAL are the same when vertices are mapped by s."""
    parts = [*pattern.exists, *(("optional", part) for part in pattern.optional)]
    return not parts or part_shapes(pattern, parts, s) == part_shapes(pattern, parts, range(len(pattern.names)))


def told_apart(pattern):
    """The edges less those that say nothing beside another one of their kind, as long as only vertices are matched."""
    conditioned = [i for i in range(len(pattern.edges)) if edge_name(pattern, i) in pattern.conditioned_names]
    kept = {pattern.edges[i][:4]: i for i in range(len(pattern.edges)) if i not in conditioned}
    covered = {pattern.edges[i][:4] for i in conditioned}
    return conditioned + [i for kind, i in kept.items() if kind not in covered]


def _keeps_vertices_and_edges(pattern, s):
    lengths = {path.edge: path[1:] for path in pattern.quantifiers}

    def edge_set(s):
        ends = ((s[e.source], s[e.target], e, lengths.get(i)) for i, e in enumerate(pattern.edges))
        return {((a, b) if e.directed else frozenset((a, b)), e.labels, path) for a, b, e, path in ends}

    vertices = range(len(pattern.names))
    return all(pattern.labels[i] == pattern.labels[s[i]] for i in vertices) and edge_set(s) == edge_set(vertices)


def _keeps_edges(pattern, s, t):
    """Whether each edge i is mapped to edge t[i] when vertices are mapped by s."""
    for i in t:
        edge, image = pattern.edges[i], pattern.edges[t[i]]
        ends, wanted = (s[edge.source], s[edge.target]), (image.source, image.target)
        same = ends == wanted if edge.directed else set(ends) == set(wanted)
        if not same or edge.directed != image.directed or edge.labels != image.labels:
            return False
    return True


def _conditions(pattern, s, t):
    """The conditions with vertices and edges renamed."""
    renamed = {vertex_name(pattern, i): ("vertex", s[i]) for i in range(len(pattern.names))}
    renamed |= {edge_name(pattern, i): ("edge", t[i]) for i in t}
    return {shape(condition, renamed.__getitem__) for condition in pattern.conditions}


def canonical(image, symmetries):
    """The least member of an embedding's orbit: equal for two exactly if an automorphism takes one to the other."""
    return min(tuple(image[i] for i in s) for s in symmetries)


def matches(graph, pattern, semantics, unique=None, edges="any", params=None):
    """The truth as a list: every embedding, or with `unique` the canonical form of each orbit.

    With `edges` "each" the positions of the named edges' rows follow the vertices. Where edges stand for paths, a row
    comes once for each choice of their lengths and inner vertices; orbits are not made of those.
    """
    if unique is None:
        unique = semantics != "homomorphism"
    if pattern.quantifiers and unique:
        raise ValueError("unique: the oracle has no orbits of matches with paths")
    found = list(embeddings_with_paths(graph, pattern, semantics))
    if pattern.conditions or edges == "each":
        found = [match for image in found for match in bindings(graph, pattern, image, edges, params)]
    found = [row for row in found if has_what_exists(graph, pattern, row, semantics, edges, params)]
    if pattern.optional:
        if unique and len(automorphisms(pattern, edges)) > 1:
            raise ValueError("unique: the oracle has no orbits of matches with optional parts")
        n = len(pattern.names)
        return [
            sum(parts, row)
            for row in found
            for parts in product(
                *(extensions(graph, pattern, part, row[:n], semantics, edges, params) for part in pattern.optional)
            )
        ]
    if not unique:
        return found
    if semantics == "homomorphism":
        raise ValueError("unique: homomorphisms have no unique=True")
    symmetries = automorphisms(pattern, edges)
    return sorted({canonical(image, symmetries) for image in found})


def sorted_rows(graph, pattern, semantics):
    """Of each orbit the least of its rows, a row being the images of the named vertices; in order."""
    named = [i for i, name in enumerate(pattern.names) if name is not None]
    symmetries = automorphisms(pattern)
    found = embeddings(graph, pattern, semantics)
    orbits = {frozenset(tuple(image[i] for i in s) for s in symmetries) for image in found}
    return sorted(min(tuple(image[i] for i in named) for image in orbit) for orbit in orbits)
