"""The pattern: the small graph whose copies are looked for.

A `Pattern` is a value: vertices (named or anonymous) with label alternatives, directed or undirected edges with label
alternatives, and pairs that a homomorphism must map to different vertices. It is checked when it is made: connected, 1
to 32 vertices, no self loops. It knows nothing of data graphs, plans or engines.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cusubmatch.errors import PatternError
from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.pattern.checks import (
    MAX_VERTICES,
    alternatives_of,
    check_hashable,
    check_pattern,
    checked_bools,
    checked_list,
    checked_pair,
    labels_of_edges,
    numbered_names,
)
from cusubmatch.pattern.convert import arguments_of_cugraph, arguments_of_networkx
from cusubmatch.pattern.parser import PatternEdge, parse_motif
from cusubmatch.pattern.text import pattern_texts

__all__ = ["Pattern"]


class Pattern:
    """A connected graph of 1 to 32 vertices to look for.

    Parameters
    ----------
    edges : iterable of (name, name)
        Vertex names are any hashable values; they become the columns of the matches.
    vertices : iterable of names, optional
        Vertices in the order that the columns shall have; needed only for a pattern of one vertex.
    labels : mapping of name to label, optional
        A label, or a set, list or tuple of alternatives.
    directed : bool or sequence of bool, default False
        Whether each edge runs from its first vertex to its second; one value for all or one an edge.
    edge_labels : sequence or mapping, optional
        One label (or alternatives, or None for any) an edge, or a mapping of pairs to labels.
    distinct : iterable of (name, name), optional
        Pairs that a homomorphism must map to different vertices.

    Raises
    ------
    PatternError
        If the pattern is empty, disconnected, larger than 32 vertices, has a self loop, or names unknown vertices.

    Examples
    --------
    >>> Pattern([("a", "b"), ("b", "c"), ("c", "a")]).automorphism_count()
    6
    >>> Pattern.parse("(a:Account)-[:PAYS]->(b)-[:PAYS]->(a)").columns
    ['a', 'b']
    """

    def __init__(
        self,
        edges: Iterable[tuple[Hashable, Hashable]],
        *,
        vertices: Iterable[Hashable] | None = None,
        labels: Mapping[Hashable, Any] | None = None,
        directed: bool | Sequence[bool] = False,
        edge_labels: Sequence | Mapping | None = None,
        distinct: Iterable[tuple[Hashable, Hashable]] = (),
    ):
        if isinstance(edges, str):
            raise TypeError(f"edges: expected pairs of names, got the text {edges!r}; use Pattern.parse for a text")
        pairs = [checked_pair("edges", edge) for edge in checked_list("edges", edges, "pairs of names")]
        vertices = checked_list("vertices", vertices or (), "names")
        distinct = checked_list("distinct", distinct, "pairs of names")
        if labels is not None and not isinstance(labels, Mapping):
            raise TypeError(f"labels: expected a mapping of names to labels, got {labels!r}")
        index: dict[Hashable, int] = {}
        for name in [*(vertices or ()), *(end for pair in pairs for end in pair)]:
            check_hashable("vertices", name)
            if name is None:
                raise PatternError("vertices: None is not a name; use Pattern.parse and '()' for an anonymous vertex")
            index.setdefault(name, len(index))

        def vertex(argument, name):
            if name not in index:
                raise PatternError(f"{argument}: {name!r} is no vertex of the pattern; its vertices are {list(index)}")
            return index[name]

        alternatives = {vertex("labels", name): alternatives_of(label) for name, label in (labels or {}).items()}
        directions = [directed] * len(pairs) if isinstance(directed, (bool, np.bool_)) else checked_bools(directed)
        if len(directions) != len(pairs):
            raise PatternError(f"directed: expected one value an edge ({len(pairs)}), got {len(directions)}")
        self._assign(
            tuple(index),
            tuple(alternatives.get(v) for v in range(len(index))),
            [
                PatternEdge(index[a], index[b], direction, labels, None)
                for (a, b), direction, labels in zip(
                    pairs, directions, labels_of_edges(pairs, edge_labels), strict=True
                )
            ],
            [
                (vertex("distinct", a), vertex("distinct", b))
                for a, b in (checked_pair("distinct", pair) for pair in distinct)
            ],
        )

    def _assign(self, names, labels, edges, distinct):
        """Check the parts of a pattern and keep them, each edge once."""
        check_pattern(names, edges, distinct)
        normal = [
            e if e.directed or e.source < e.target else e._replace(source=e.target, target=e.source) for e in edges
        ]
        seen: dict[tuple, PatternEdge] = {}
        for edge in normal:
            known = seen.setdefault(edge[:4], edge)
            if known.name is None:
                seen[edge[:4]] = edge
            elif edge.name not in (None, known.name):
                raise PatternError(
                    f"pattern: edges {known.name!r} and {edge.name!r} have the same ends and labels; parallel edges "
                    "never multiply matches, and attach_edges gives one row for each of them"
                )
        self.names: tuple[Hashable | None, ...] = names
        self.labels: tuple[frozenset | None, ...] = labels
        self.edges: tuple[PatternEdge, ...] = tuple(seen.values())
        self.distinct: frozenset[tuple[int, int]] = frozenset((min(pair), max(pair)) for pair in distinct)

    @classmethod
    def parse(cls, text: str, *, distinct: Iterable[tuple[str, str]] = ()) -> Pattern:
        """Read a pattern from openCypher-like text.

        Parameters
        ----------
        text : str
            Chains of ``(name:Label|Other)`` joined by ``--``, ``-->``, ``<--``, ``-[:TYPE]->``, ``-[name:TYPE]-`` and
            so on, separated by commas or semicolons. ``()`` is anonymous: matched, but without a column.
        distinct : iterable of (str, str), optional
            Pairs that a homomorphism must map to different vertices.

        Raises
        ------
        PatternError
            If the text cannot be read (the message marks the position) or the pattern is not valid.
        """
        motif = parse_motif(text)
        index = {name: v for v, name in enumerate(motif.names) if name is not None}
        pairs = [checked_pair("distinct", pair) for pair in checked_list("distinct", distinct, "pairs of names")]
        for name in (name for pair in pairs for name in pair):
            if name not in index:
                raise PatternError(f"distinct: {name!r} is no vertex of the pattern; its vertices are {list(index)}")
        pattern = cls.__new__(cls)
        different = [(index[a], index[b]) for a, b in pairs]
        pattern._assign(tuple(motif.names), tuple(motif.labels), motif.edges, different)  # noqa: SLF001
        return pattern

    @classmethod
    def clique(cls, size: int) -> Pattern:
        """Every pair of `size` vertices joined, undirected."""
        names = numbered_names("size", size, 1)
        return cls([(a, b) for i, a in enumerate(names) for b in names[i + 1 :]], vertices=names)

    @classmethod
    def cycle(cls, size: int, *, directed: bool = False) -> Pattern:
        """A closed ring of `size` vertices; directed, each points to the next (two may then point to each other)."""
        names = numbered_names("size", size, 2 if directed else 3)
        return cls(list(zip(names, names[1:] + names[:1], strict=True)), directed=directed)

    @classmethod
    def path(cls, size: int, *, directed: bool = False) -> Pattern:
        """A chain of `size` vertices, `size` - 1 edges."""
        names = numbered_names("size", size, 1)
        return cls(list(pairwise(names)), vertices=names, directed=directed)

    @classmethod
    def star(cls, leaves: int, *, directed: bool = False) -> Pattern:
        """A centre (the first vertex) and `leaves` neighbours; directed, the centre points to them."""
        if isinstance(leaves, (int, np.integer)) and not 0 <= leaves < MAX_VERTICES:
            raise PatternError(f"leaves: a star has 0 to {MAX_VERTICES - 1} leaves, got {leaves}")
        names = ["v0", *(f"v{i + 1}" for i in range(len(numbered_names("leaves", leaves, 0))))]
        return cls([(names[0], leaf) for leaf in names[1:]], vertices=names, directed=directed)

    @classmethod
    def from_networkx(cls, graph, *, label: str | None = "label", edge_label: str | None = "label") -> Pattern:
        """A pattern from a networkx graph of any of its four kinds.

        `label` and `edge_label` name the node and edge attributes that hold labels; nodes and edges without them match
        any.
        """
        return cls(**arguments_of_networkx(graph, label, edge_label))

    @classmethod
    def from_cugraph(cls, graph) -> Pattern:
        """A pattern from a `cugraph.Graph`; its vertices keep their ids as names."""
        return cls(**arguments_of_cugraph(graph))

    def with_edge(self, edge: PatternEdge) -> Pattern:
        """The same pattern with one more edge."""
        pattern = Pattern.__new__(Pattern)
        pattern._assign(self.names, self.labels, [*self.edges, edge], self.distinct)  # noqa: SLF001
        return pattern

    def __len__(self) -> int:
        return len(self.names)

    @property
    def columns(self) -> list[Hashable]:
        """The named vertices in order of first mention: the columns of the matches."""
        return [name for name in self.names if name is not None]

    @property
    def directed(self) -> bool:
        """Whether any edge has a direction."""
        return any(edge.directed for edge in self.edges)

    @functools.cached_property
    def automorphisms(self) -> AutomorphismGroup:
        """The automorphisms that keep labels, direction and edge labels."""
        size = len(self)
        numbers: dict[Hashable, int] = {}  # equal labels get one number
        between: dict[tuple[int, int], list[tuple]] = {}

        def numbered(labels):
            return (
                None if labels is None else tuple(sorted(numbers.setdefault(label, len(numbers)) for label in labels))
            )

        for edge in self.edges:
            labels = numbered(edge.labels)
            source, target = edge.source, edge.target
            between.setdefault((source, target), []).append(("out" if edge.directed else "either", labels))
            between.setdefault((target, source), []).append(("in" if edge.directed else "either", labels))
        codes: list[list[tuple]] = [[()] * size for _ in range(size)]
        for (source, target), cell in between.items():
            codes[source][target] = tuple(sorted(map(repr, cell)))
        return AutomorphismGroup([numbered(labels) for labels in self.labels], codes)

    def automorphism_count(self) -> int:
        """The order of the automorphism group: embeddings per subgraph."""
        return self.automorphisms.order

    def _key(self):
        return self.names, self.labels, frozenset(self.edges), self.distinct

    def __eq__(self, other) -> bool:
        return isinstance(other, Pattern) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        edges, distinct = pattern_texts(self)
        return f"Pattern({', '.join(edges)}{distinct})"

    def _repr_pretty_(self, printer, _cycle) -> None:
        """Print the same text in IPython, broken into lines."""
        edges, distinct = pattern_texts(self)
        with printer.group(len("Pattern("), "Pattern(", f"{distinct})"):
            for index, edge in enumerate(edges):
                if index:
                    printer.text(",")
                    printer.breakable()
                printer.text(edge)

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"
