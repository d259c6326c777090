"""How each tool counts a query: cusubmatch, networkx, igraph and two ways to ask DuckDB, behind one small face.

Each tool does it by the function of its own that fits best, with one thread. Where a tool finds embeddings and one per
subgraph is wanted, its count is divided by the number of automorphisms.
"""

from __future__ import annotations

import itertools

import numpy as np
from sql import GROUPED, joins

__all__ = ["TOOLS"]

DUCKDB_MEMORY = "6GB"
CLIQUES = {"triangle": 3, "4-clique": 4, "5-clique": 5}


class Cusubmatch:
    """This package on one thread; the compiled code is loaded, the graph and its bitmaps are made beforehand."""

    name = "cusubmatch"
    bounded = False

    def can(self, case):
        return True

    def warm_up(self):
        import numba
        import pandas as pd

        import cusubmatch as csm

        numba.config.NUMBA_NUM_THREADS = 1
        corners = pd.DataFrame({"vertex": range(8), "label": 0})
        complete = pd.DataFrame(itertools.combinations(range(8), 2), columns=["src", "dst"])
        graph = csm.Graph.from_edgelist(complete, vertices=corners, vertex_label="label")
        for pattern in (csm.Pattern.clique(4), csm.Pattern.cycle(4), csm.Pattern([(0, 1), (1, 2)], labels={0: 0})):
            csm.count_matches(graph, pattern)

    def build(self, edges, labels):
        import pandas as pd

        import cusubmatch as csm

        vertices = None if labels is None else pd.DataFrame({"vertex": np.arange(len(labels)), "label": labels})
        graph = csm.Graph.from_edgelist(
            edges, "src", "dst", vertices=vertices, vertex_label=None if labels is None else "label"
        )
        csm.has_match(graph, csm.Pattern.path(2))
        return graph

    def count(self, graph, name, query, turn):
        import cusubmatch as csm

        # New names make it a new pattern: the plan and the filters of an earlier turn are not met again.
        edges = [(f"{turn}.{a}", f"{turn}.{b}") for a, b in query.edges]
        labels = None if query.labels is None else {f"{turn}.{v}": label for v, label in enumerate(query.labels)}
        return csm.count_matches(graph, csm.Pattern(edges, labels=labels), unique=query.labels is None)


class NetworkX:
    """Triangle counting, clique enumeration, bounded cycles, and VF2 for the rest."""

    name = "networkx"
    bounded = True

    def can(self, case):
        return True

    def warm_up(self):
        import networkx  # noqa: F401

    def build(self, edges, labels):
        import networkx as nx

        graph = nx.Graph()
        graph.add_edges_from(zip(edges["src"].tolist(), edges["dst"].tolist(), strict=True))
        if labels is not None:
            nx.set_node_attributes(graph, dict(enumerate(labels.tolist())), "label")
        return graph

    def count(self, graph, name, query, turn):
        import networkx as nx
        from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match

        if name == "triangle":
            return sum(nx.triangles(graph).values()) // 3
        if name in CLIQUES:
            k = CLIQUES[name]
            sizes = map(len, nx.enumerate_all_cliques(graph))
            return sum(size == k for size in itertools.takewhile(lambda size: size <= k, sizes))
        if name == "4-cycle":
            return sum(len(cycle) == 4 for cycle in nx.simple_cycles(graph, length_bound=4))
        pattern, match = nx.Graph(query.edges), None
        if query.labels is not None:
            nx.set_node_attributes(pattern, dict(enumerate(query.labels)), "label")
            match = categorical_node_match("label", None)
        found = sum(1 for _ in GraphMatcher(graph, pattern, node_match=match).subgraph_monomorphisms_iter())
        if query.labels is not None:
            return found
        return found // sum(1 for _ in GraphMatcher(pattern, pattern).isomorphisms_iter())


class IGraph:
    """Triangle and clique listing, and VF2 for the rest (with colours for labels)."""

    name = "igraph"
    bounded = True

    def can(self, case):
        return True

    def warm_up(self):
        import igraph  # noqa: F401

    def build(self, edges, labels):
        import igraph

        graph = igraph.Graph(edges.to_numpy())
        if labels is not None:
            graph.vs["label"] = labels.tolist()
        return graph

    def count(self, graph, name, query, turn):
        import igraph

        if name == "triangle":
            return len(graph.list_triangles())
        if name in CLIQUES:
            return len(graph.cliques(CLIQUES[name], CLIQUES[name]))
        pattern = igraph.Graph(query.edges)
        if query.labels is None:
            return graph.count_subisomorphisms_vf2(pattern) // pattern.count_automorphisms_vf2()
        return graph.count_subisomorphisms_vf2(pattern, color1=graph.vs["label"], color2=list(query.labels))


class DuckDB:
    """Self joins, one an edge of the pattern, vertices numbered by degree, with order conditions against symmetry."""

    name = "DuckDB joins"
    bounded = False  # it keeps its own limit

    def can(self, case):
        return True

    def warm_up(self):
        import duckdb

        duckdb.sql("select 1").fetchall()

    def build(self, edges, labels):
        import duckdb
        import pandas as pd

        source, target = edges["src"].to_numpy(), edges["dst"].to_numpy()
        degree = np.bincount(np.concatenate([source, target]))
        by_degree = np.argsort(degree, kind="stable")
        rank = np.empty(len(degree), np.int32)
        rank[by_degree] = np.arange(len(degree), dtype=np.int32)
        a, b = rank[source], rank[target]
        rows = pd.DataFrame({"s": np.minimum(a, b), "t": np.maximum(a, b)})
        rows = (
            rows.assign(ls=0, lt=0)
            if labels is None
            else rows.assign(ls=labels[by_degree][rows["s"]], lt=labels[by_degree][rows["t"]])
        )
        connection = duckdb.connect(config={"threads": 1, "memory_limit": DUCKDB_MEMORY, "temp_directory": ""})
        connection.register("rows", rows)
        connection.execute("create table up as select * from rows order by s, t")
        connection.execute("create view back as select t as s, s as t, lt as ls, ls as lt from up")
        connection.execute("create table nb as from (from up union all from back) order by s, t")
        return connection

    def sql(self, name, query):
        return joins(query)

    def count(self, connection, name, query, turn):
        return int(connection.execute(self.sql(name, query)).fetchone()[0])


class GroupedDuckDB(DuckDB):
    """The best SQL by hand: triangles or wedges grouped and their numbers combined, for the patterns that allow it."""

    name = "DuckDB grouped"

    def can(self, case):
        return case.name in GROUPED

    def sql(self, name, query):
        return GROUPED[name]


TOOLS = {tool.name: tool for tool in (Cusubmatch(), NetworkX(), IGraph(), DuckDB(), GroupedDuckDB())}
