"""Random data graphs and patterns for hypothesis, small enough for the oracle and as untidy as users' tables.

A `RawGraph` is what a user holds: rows with self loops and repeats, perhaps labels, perhaps vertices without an edge.
It becomes the oracle's `NaiveGraph` and, through dataframes, the package's `Graph`. Patterns are drawn for a graph so
that they are legal on it: built from edge lists, of high symmetry (cliques, stars, complete bipartite graphs), or
parsed from text, which alone can say anonymous vertices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import networkx as nx
import numpy as np
import pandas as pd
from hypothesis import reject
from hypothesis import strategies as st
from naive import NaiveGraph

from cusubmatch import Graph, Pattern, PatternError
from cusubmatch.pattern.checks import check_parallel_edges

VERTEX_LABELS = {"str": ("A", "B", "C"), "int": (1, 2, 3)}
EDGE_LABELS = {"str": ("X", "Y", "Z"), "int": (10, 20, 30)}
ABSENT_LABEL = {"str": "Nowhere", "int": 99}
HUB_SIZES = (28, 34)
SIZES = (0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12)


@dataclass(frozen=True)
class RawGraph:
    """Rows `(a, b)` or `(a, b, label)`; `labels` None: the graph is given none; `isolated`: vertices named anyhow."""

    rows: list
    directed: bool
    id_kind: str
    label_kind: str
    edge_labelled: bool
    labels: dict | None
    isolated: list

    def naive(self):
        """The oracle's graph."""
        return NaiveGraph(self.rows, self.directed, self.labels, self.isolated)

    def graph(self):
        """The package's graph, from pandas frames."""
        ids = {"int": "int64", "str": "str"}[self.id_kind]
        edges = pd.DataFrame(
            {name: pd.Series([row[i] for row in self.rows], dtype=ids) for i, name in enumerate(("src", "dst"))}
        )
        options = {}
        if self.edge_labelled:
            edges["kind"] = self._label_column([row[2] for row in self.rows])
            options["edge_label"] = "kind"
        if self.labels is not None or self.isolated:
            named = list(dict.fromkeys([*self.isolated, *(self.labels or {})]))
            options["vertices"] = pd.DataFrame({"vertex": pd.Series(named, dtype=ids)})
            if self.labels is not None:
                options["vertices"]["type"] = self._label_column([self.labels.get(v) for v in named])
                options["vertex_label"] = "type"
        return Graph.from_edgelist(edges, directed=self.directed, **options)

    def _label_column(self, values):
        return pd.Series(values, dtype={"int": "Int64", "str": "str"}[self.label_kind])


@st.composite
def raw_graphs(draw, max_vertices=12, directed=None, labelled=None, edge_labelled=None, label_kind=None, hubs=False):
    """Graphs of 0 to `max_vertices` vertices and up to 2.5 rows a vertex; an option left None is drawn.

    With `hubs` they are larger, sparse but for one to three vertices with about half of all others as neighbours.
    """

    def option(value):
        return draw(st.booleans()) if value is None else value

    directed, labelled, edge_labelled = option(directed), option(labelled), option(edge_labelled)
    n = draw(st.sampled_from(HUB_SIZES if hubs else [n for n in SIZES if n <= max_vertices]))
    id_kind, label_kind = (
        draw(st.sampled_from(("int", "str"))),
        label_kind or draw(st.sampled_from(("str", "str", "int"))),
    )
    ids = draw(_ids(id_kind, n))
    m = n * draw(st.integers(0, 2 if hubs else 5)) // 2
    end = st.sampled_from(ids) if ids else st.nothing()
    kinds = st.sampled_from((*EDGE_LABELS[label_kind], *EDGE_LABELS[label_kind], None))
    row = st.tuples(end, end, kinds) if edge_labelled else st.tuples(end, end)
    rows = draw(st.lists(row, min_size=m, max_size=m))
    if n >= HUB_SIZES[0]:
        for hub in ids[: draw(st.integers(1, 3))]:
            out, into, kind = (
                draw(st.integers(0, 2**n - 1)),
                draw(st.integers(0, 2**n - 1)),
                draw(st.lists(kinds, max_size=1)),
            )
            label = kind or [EDGE_LABELS[label_kind][0]] if edge_labelled else []
            rows += [(hub, v, *label) for i, v in enumerate(ids) if out >> i & 1]
            rows += [(v, hub, *label) for i, v in enumerate(ids) if into >> i & 1]
    if rows:
        again = draw(st.lists(st.sampled_from(rows), max_size=4))
        # A repeat, or with edge labels a parallel edge; turned round, a repeat only in an undirected graph.
        rows += [
            (*(a, b)[:: draw(st.sampled_from((1, -1)))], *([draw(kinds)] if kind else [])) for a, b, *kind in again
        ]
    labels = None
    if labelled:
        values = st.sampled_from((None, None, *VERTEX_LABELS[label_kind]))
        labels = {v: draw(values) for v in ids}
        # A vertex may also be missing from the table of vertices: it has no label either.
        for v in draw(st.lists(end, max_size=3, unique=True)) if ids else []:
            del labels[v]
    isolated = draw(st.lists(end, max_size=3, unique=True)) if ids else []
    return RawGraph(rows, directed, id_kind, label_kind, edge_labelled, labels, isolated)


def _ids(kind, n):
    if kind == "str":
        return st.lists(st.text("abcd", min_size=1, max_size=3), min_size=n, max_size=n, unique=True)
    return st.one_of(
        st.permutations(range(n)),
        st.lists(st.integers(-(2**40), 2**40), min_size=n, max_size=n, unique=True),
    )


def patterns(raw, max_vertices=5, anonymous=None):
    """Connected patterns that are legal on `raw`; some vertices anonymous always (True), never (False) or perhaps."""
    parsed = _parsed_patterns(raw, max_vertices, anonymous)
    if anonymous:
        return parsed
    built = [_built_patterns(raw, max_vertices), _symmetric_patterns(raw, max_vertices)]
    return st.one_of(*built, parsed) if raw.label_kind == "str" else st.one_of(built)


@st.composite
def cases(draw, anonymous=None, **options):
    """A graph and a pattern for it, of which mostly a copy is planted: random ones alone seldom match."""
    raw = draw(raw_graphs(label_kind="str" if anonymous else None, **options))
    vertices = raw.naive().vertices
    # Six pattern vertices only where the oracle's search stays small.
    most = 6 if len(vertices) <= 8 else 5 if len(vertices) <= 12 else 4
    pattern = draw(patterns(raw, most, anonymous))
    if len(pattern) <= len(vertices) and draw(st.sampled_from((False, True, True))):
        raw = _with_copy(draw, raw, pattern, draw(st.permutations(vertices)))
    return raw, pattern


def _with_copy(draw, raw, pattern, image):
    rows, labels = list(raw.rows), None if raw.labels is None else dict(raw.labels)
    for vertex, some in zip(image, pattern.labels, strict=False):
        if some is not None:
            labels[vertex] = draw(st.sampled_from(sorted(some)))
    for edge in pattern.edges:
        ends = image[edge.source], image[edge.target]
        if not edge.directed and draw(st.booleans()):
            ends = ends[::-1]
        kind = draw(st.sampled_from(sorted(edge.labels or EDGE_LABELS[raw.label_kind])))
        rows.append((*ends, kind) if raw.edge_labelled else ends)
    return replace(raw, rows=rows, labels=labels)


def _alternatives(draw, names, absent):
    """None (any label) mostly, else one label or a few, rarely one that occurs nowhere."""
    if draw(st.sampled_from((True, True, False))):
        return None
    return frozenset(draw(st.lists(st.sampled_from((*names, *names, *names, absent)), min_size=1, max_size=2)))


def _vertex_alternatives(draw, raw):
    if raw.labels is None:
        return None
    return _alternatives(draw, VERTEX_LABELS[raw.label_kind], ABSENT_LABEL[raw.label_kind])


def _edge_alternatives(draw, raw):
    if not raw.edge_labelled:
        return None
    return _alternatives(draw, EDGE_LABELS[raw.label_kind], ABSENT_LABEL[raw.label_kind])


def _arrows(draw, raw):
    """The kinds of edges of one pattern: all directed, all undirected or mixed."""
    return draw(st.sampled_from((("--",), ("-->", "<--"), ("--", "-->", "<--")))) if raw.directed else ("--",)


def _distinct(draw, names):
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return draw(st.lists(st.sampled_from(pairs), max_size=2)) if pairs else []


@st.composite
def _built_patterns(draw, raw, max_vertices):
    """A random tree and up to four more edges, some of them on a pair that has one already."""
    k = draw(st.sampled_from([k for k in (1, 2, 3, 3, 4, 4, 5, 5, 6) if k <= max_vertices]))
    names = draw(st.permutations(draw(st.sampled_from(("abcdef", (3, -1, 0, 12, 7, 2))))))[:k]
    pairs = [(draw(st.integers(0, i - 1)), i) for i in range(1, k)]
    if pairs:
        pairs += draw(st.lists(st.sampled_from(pairs), max_size=draw(st.sampled_from((0, 0, 1, 2)))))
        more = draw(st.sampled_from((0, 1, 1, 2, 3)))
        pairs += draw(st.lists(st.sampled_from(list(permutations(range(k), 2))), min_size=more, max_size=more))
    arrow = st.sampled_from(_arrows(draw, raw))
    arrows = [draw(arrow) for _ in pairs]
    edges = [(b, a) if arrow == "<--" else (a, b) for (a, b), arrow in zip(pairs, arrows, strict=True)]
    order = draw(st.permutations(range(len(edges))))
    labels = {name: _vertex_alternatives(draw, raw) for name in names}
    return Pattern(
        [(names[edges[i][0]], names[edges[i][1]]) for i in order],
        vertices=names if k == 1 or draw(st.booleans()) else None,
        labels={name: some for name, some in labels.items() if some is not None},
        directed=[arrows[i] != "--" for i in order],
        edge_labels=[_edge_alternatives(draw, raw) for _ in order],
        distinct=_distinct(draw, names),
    )


@st.composite
def _symmetric_patterns(draw, raw, max_vertices):
    """Complete multipartite graphs: cliques, stars, bipartite ones; arcs, if any, run from a part to those after it."""
    parts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=max_vertices))
    while sum(parts) > max_vertices:
        parts.pop()
    if len(parts) == 1:
        parts = [1, max(1, min(parts[0], max_vertices - 1))]
    edges = sorted(nx.complete_multipartite_graph(*parts).edges)
    kind, label = _edge_alternatives(draw, raw), _vertex_alternatives(draw, raw)
    return Pattern(
        edges,
        labels={} if label is None else dict.fromkeys(range(sum(parts)), label),
        directed=raw.directed and draw(st.booleans()),
        edge_labels=[kind] * len(edges),
    )


@st.composite
def _parsed_patterns(draw, raw, max_vertices, anonymous):
    """Chains as a user types them; each but the first starts (or, turned round, ends) at a vertex known before.

    Where vertices must be anonymous, there is also a named one.
    """
    arrow = st.sampled_from(_arrows(draw, raw))
    names, chains, size = [], [], 1 if anonymous else 0
    for nth_chain in range(draw(st.sampled_from((1, 2, 2, 3, 3, 4)))):
        chain, previous = [], None
        for position in range(draw(st.sampled_from((2, 3, 3, 4) if nth_chain else (1, 2, 3, 3, 4)))):
            choices = [name for name in names if name != previous]
            if size < max_vertices and (position or not nth_chain):
                nameless = anonymous is not False and (names or not anonymous)
                choices += ["new", "new", "()"] if nameless else ["new", "new"]
            if not choices:
                break
            name = draw(st.sampled_from(choices))
            if position:
                chain.append(_arrow_text(draw, raw, draw(arrow), len(chains) * 10 + position))
            first_mention = name in ("new", "()")
            size += first_mention
            if name == "new":
                name = "abcdef"[len(names)]
                names.append(name)
            some = _vertex_alternatives(draw, raw) if first_mention else None
            chain.append(f"({'' if name == '()' else name}{_label_text(some)})")
            previous = name
        if draw(st.booleans()):
            chain = [_turned(part) for part in reversed(chain)]
        chains.append("".join(chain))
        if not names:
            break
    if anonymous and not any("()" in chain or "(:" in chain for chain in chains):
        chains.append(
            f"({names[0]}){_arrow_text(draw, raw, draw(arrow), 99)}({_label_text(_vertex_alternatives(draw, raw))})"
        )
    text = draw(st.sampled_from((", ", "; "))).join(chain for chain in chains if chain)
    apart = _distinct(draw, names)
    try:
        pattern = Pattern.parse(text, distinct=apart)
        check_parallel_edges(pattern)
    except PatternError as error:  # two names were drawn for one edge
        assert "have the same ends and labels" in str(error)
        reject()
    return pattern


def _label_text(some):
    return "" if some is None else ":" + "|".join(sorted(some))


def _arrow_text(draw, raw, arrow, number):
    inside = draw(st.sampled_from(("", "", f"e{number}"))) + _label_text(_edge_alternatives(draw, raw))
    if not inside:
        return arrow
    return {"--": f"-[{inside}]-", "-->": f"-[{inside}]->", "<--": f"<-[{inside}]-"}[arrow]


def _turned(part):
    if part.startswith("("):
        return part
    if part.endswith(">"):
        return "<" + part[:-1]
    return part[1:] + ">" if part.startswith("<") else part


def skewed_rows(vertices=200, rows=1100, seed=7):
    """Array (2, rows) of ends between numbered vertices, drawn as R-MAT draws them: few hubs, many of low degree."""
    random = np.random.default_rng(seed)
    ends = np.zeros((2, rows), np.int64)
    for _ in range(8):
        quadrant = random.choice(4, size=rows, p=(0.52, 0.2, 0.18, 0.1))
        ends = 2 * ends + (quadrant >> 1, quadrant & 1)
    return ends % vertices


def connected_order(pattern, ranks):
    """The connected order of a pattern's vertices that prefers them as `ranks` says; None if that is empty."""
    rank, order = [*ranks, *range(len(ranks), len(pattern))], []
    joined = {pair for edge in pattern.edges for pair in (edge[:2], edge[1::-1])}
    while ranks and len(order) < len(pattern):
        reached = [v for v in range(len(pattern)) if v not in order and any((u, v) in joined for u in order)]
        order.append(min(reached or range(len(pattern)), key=lambda v: rank[v]))
    return tuple(order) or None
