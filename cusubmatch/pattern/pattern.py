"""The pattern: the small graph whose copies are looked for.

A `Pattern` is a value: vertices (named or anonymous) with label alternatives, directed or undirected edges with label
alternatives, pairs that a homomorphism must map to different vertices, and conditions. It is checked when it is made:
connected, 1 to 32 vertices, no self loops. It knows nothing of data graphs, plans or engines.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cusubmatch.errors import PatternError
from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.pattern.checked_parts import checked_parts
from cusubmatch.pattern.checks import MAX_VERTICES, numbered_names
from cusubmatch.pattern.coloured_graph import edge_automorphisms, vertex_automorphisms
from cusubmatch.pattern.convert import arguments_of_cugraph, arguments_of_networkx
from cusubmatch.pattern.elements import Element, elements_of
from cusubmatch.pattern.language.parser import PatternEdge, parse_motif
from cusubmatch.pattern.language.text import PatternTexts
from cusubmatch.pattern.optional_parts import new_columns
from cusubmatch.pattern.pattern_arguments import checked_arguments, distinct_pairs
from cusubmatch.pattern.quantifiers import Quantifier, expanded

if TYPE_CHECKING:
    from cusubmatch.pattern.expressions import Expression

__all__ = ["Pattern"]


class Pattern(PatternTexts):
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
    edge_names : sequence, optional
        A name an edge (None: anonymous), for conditions and for the columns of edges.
    distinct : iterable of (name, name), optional
        Pairs that a homomorphism must map to different vertices.
    where : str or Expression, optional
        A condition on columns of the vertices and edges, as after WHERE in `Pattern.parse`.

    Raises
    ------
    PatternError
        If the pattern is empty, disconnected, larger than 32 vertices, has a self loop, or names what it does not have.

    Examples
    --------
    >>> Pattern([("a", "b"), ("b", "c"), ("c", "a")]).automorphism_count()
    6
    >>> Pattern.parse("(a:Account)-[:PAYS]->(b)-[:PAYS]->(a)").columns
    ['a', 'b']

    >>> P = Pattern([("a", "b"), ("b", "c"), ("c", "a")], where="a.risk > $least AND b.risk > $least")
    >>> P.automorphism_count(), P.parameters
    (2, ('least',))
    """

    names: tuple[Hashable | None, ...]
    labels: tuple[frozenset | None, ...]
    edges: tuple[PatternEdge, ...]
    distinct: frozenset[tuple[int, int]]
    conditions: tuple[Expression, ...]
    quantifiers: tuple[Quantifier, ...]
    optional: tuple[Pattern, ...]
    exists: tuple[tuple[bool, Pattern], ...]

    def __init__(
        self,
        edges: Iterable[tuple[Hashable, Hashable]],
        *,
        vertices: Iterable[Hashable] | None = None,
        labels: Mapping[Hashable, Any] | None = None,
        directed: bool | Sequence[bool] = False,
        edge_labels: Sequence | Mapping | None = None,
        edge_names: Sequence | None = None,
        distinct: Iterable[tuple[Hashable, Hashable]] = (),
        where: str | Expression | None = None,
    ):
        parts = checked_arguments(edges, vertices, labels, directed, edge_labels, edge_names, distinct)
        self._assign(*parts, where=where)

    def _assign(self, *parts, **more):
        """Keep the parts of a pattern, those that `checked_parts` makes of what it is given."""
        for name, value in checked_parts(*parts, **more, pattern_of=self._of_motif)._asdict().items():
            setattr(self, name, value)

    @classmethod
    def parse(cls, text: str, *, distinct: Iterable[tuple[str, str]] = ()) -> Pattern:
        """Read a pattern from openCypher-like text.

        Parameters
        ----------
        text : str
            Chains of ``(name:Label|Other)`` joined by ``--``, ``-->``, ``<--``, ``-[:TYPE]->``, ``-[name:TYPE]-`` and
            so on, separated by commas or semicolons. ``()`` is anonymous: matched, but without a column.
            Names, labels and columns that are not words stand in backticks.
            ``{country: 'DE'}`` after a label asks for values in columns, and WHERE for more:

            - ``name.column`` of a vertex or edge, ``id(name)`` of a vertex, and ``$parameter``;
            - numbers, texts in single or double quotes, true, false, null, ``date('2024-05-31')``,
              ``datetime('2024-05-31T09:30:00Z')`` and ``duration('P30DT6H')`` (ISO 8601, no months or years);
            - ``+ - * / %`` and ``abs()``; ``= <> < <= > >=``, also in chains, ``IN [1, 2]``, ``IN $list``,
              ``IS NULL``, ``IS NOT NULL`` and ``STARTS WITH``; AND, OR and NOT;
            - ``NOT (a)-[:TYPE]->(b)``: no such edge between two vertices of the pattern.

            ``-[:TYPE]->{1,3}`` or ``-[:TYPE*1..3]->`` is a path of one to three edges, eight at most.
            ``EXISTS { (a)-->(z:Bad) WHERE z.risk > 3 }``, perhaps after NOT, asks whether there is such a part; it
            stands among the conditions and shares vertices with the pattern by their names.
            ``OPTIONAL (a)-[x]->(z)`` at the end, perhaps with its own WHERE, adds columns that are null where the
            match has no such part.

            As in SQL, a comparison with null is unknown, and what is unknown is no match. Keywords are read in upper
            and lower case. ``id(a) <> id(b)`` (or ``a <> b``) adds to `distinct`.
        distinct : iterable of (str, str), optional
            Pairs that a homomorphism must map to different vertices.

        Raises
        ------
        PatternError
            If the text cannot be read (the message marks the position) or the pattern is not valid.

        Examples
        --------
        >>> P = Pattern.parse("(a:Account)-[p]->(b)-[q]->(a) WHERE p.time < q.time AND q.time - p.time <= $window")
        >>> P.parameters
        ('window',)
        >>> print(Pattern.parse("(a {country: 'DE'})-->(b) where NOT (b)-->(a) and a.opened >= date('2024-01-01')"))
        (a)-->(b) WHERE NOT (b)-->(a) AND a.country = 'DE' AND a.opened >= date('2024-01-01')
        """
        motif = parse_motif(text)
        pairs = distinct_pairs(distinct, {name: v for v, name in enumerate(motif.names) if name is not None})
        return cls._of_motif(motif, pairs)

    @classmethod
    def _of_motif(cls, motif, distinct=()) -> Pattern:
        optional = tuple(map(cls._of_motif, motif.optional))
        names, labels = tuple(motif.names), tuple(motif.labels)
        exists = tuple((wanted, cls._of_motif(part)) for wanted, part in motif.exists)
        return cls.of_parts(names, labels, motif.edges, distinct, *motif[3:6], None, optional, exists)

    @classmethod
    def of_parts(cls, *parts) -> Pattern:
        """A pattern of checked vertices and edges, as `_assign` takes them."""
        pattern = cls.__new__(cls)
        pattern._assign(*parts)  # noqa: SLF001
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
        return self._changed([*self.edges, edge])

    def where(self, condition: str | Expression) -> Pattern:
        """The same pattern with a condition more.

        Parameters
        ----------
        condition : str or Expression
            What a match must fulfil as well, as after WHERE in `Pattern.parse`.

        Examples
        --------
        >>> P = Pattern.parse("(a)-[p]->(b)-[q]->(c)")
        >>> print(P.where("p.time < q.time").where("q.amount >= 0.9 * p.amount"))
        (a)-[p]->(b), (b)-[q]->(c) WHERE p.time < q.time AND q.amount >= 0.9 * p.amount
        """
        if condition is None:
            raise TypeError("where: expected a text or an Expression, got None")
        return self._changed(self.edges, condition)

    def _changed(self, edges, where=None):
        kept = self.distinct, (), self.conditions, self.quantifiers
        return self.of_parts(self.names, self.labels, edges, *kept, where, self.optional, self.exists)

    def expansions(self, *, unique: bool = False) -> tuple[Pattern, ...]:
        """The patterns that edges with lengths stand for; with `unique` one of those that automorphisms exchange."""
        return expanded(self, unique=unique)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def columns(self) -> list[Hashable]:
        """The named vertices in order of first mention: the columns of the matches."""
        columns = [name for name in self.names if name is not None]
        return columns + [name for part in self.optional for name in new_columns(self.names, part)]

    @functools.cached_property
    def directed(self) -> bool:
        """Whether any edge has a direction, those of parts among them."""
        return any(edge.directed for edge in self.edges) or any(part.directed for part in self.parts)

    @functools.cached_property
    def parts(self) -> tuple[Pattern, ...]:
        """The patterns after OPTIONAL and EXISTS."""
        return (*self.optional, *(part for _, part in self.exists))

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters in the conditions, in alphabetical order."""
        from cusubmatch.pattern.condition_form import parameters_of

        inner = parameters_of(self.conditions), *(part.parameters for part in self.parts)
        return tuple(sorted({name for names in inner for name in names}))

    @functools.cached_property
    def conditioned_names(self) -> frozenset[str]:
        """The vertices and edges that conditions name."""
        if not self.conditions:
            return frozenset()
        from cusubmatch.pattern.condition_form import elements_in

        return elements_in(self.conditions)

    @functools.cached_property
    def elements(self) -> dict[Hashable, list[Element]]:
        """What the names in conditions stand for, vertices and edges; a name of two elements is ambiguous."""
        return elements_of(self.names, self.edges)

    @functools.cached_property
    def automorphisms(self) -> AutomorphismGroup:
        """The automorphisms that keep labels, direction, edge labels and conditions, acting on the vertices."""
        return vertex_automorphisms(self)

    @functools.cached_property
    def edge_automorphisms(self) -> AutomorphismGroup:
        """The same acting on the vertices and, numbered after them, the named edges in order."""
        return edge_automorphisms(self)

    def automorphism_count(self) -> int:
        """The order of the automorphism group: embeddings per subgraph."""
        return self.automorphisms.order

    @functools.cached_property
    def _key(self):
        rest = self.conditions, self.quantifiers, self.optional, self.exists
        return self.names, self.labels, frozenset(self.edges), self.distinct, *rest

    def __eq__(self, other) -> bool:
        return isinstance(other, Pattern) and self._key == other._key

    @functools.cached_property
    def _hash(self):
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # Text has another hash in another process.
        return {name: value for name, value in vars(self).items() if name != "_hash"}
