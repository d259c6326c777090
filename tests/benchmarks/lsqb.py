"""The queries of LSQB, counted by patterns and by joins of DuckDB, in the same run.

    python tests/benchmarks/lsqb.py [--graph lsqb-sf0.003] [--query q1,q7] [--repeats 7]

Ours: milliseconds of the first call on a new graph and of a warm one. DuckDB: of the query on tables that are there,
one for each kind of edge, on two threads. Each is the least of some repeats. Counts are compared; `*`: a wrong one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from data_graphs import data_folder, load_graph
from lsqb_queries import LSQB_QUERIES

import cusubmatch as csm
from cusubmatch import Pattern


def ends_of(pattern, table):
    """The conditions that say that row `table{i}` is edge i of a pattern; labels stand in the tables of kinds."""
    ends, conditions = {}, []
    for i, edge in enumerate(pattern.edges):
        for vertex, column in ((edge.source, "src"), (edge.target, "dst")):
            name, here = pattern.names[vertex] or f"{table}{vertex}", f"{table}{i}.{column}"
            if pattern.labels[vertex] is not None:
                wanted = ", ".join(f"'{label}'" for label in sorted(pattern.labels[vertex]))
                conditions.append(f"{here}_label IN ({wanted})")
            conditions += [f"{here} = {ends[name]}"] if name in ends else []
            ends.setdefault(name, here)
    return ends, conditions


def tables_of(pattern, table):
    """The tables of the edges: those of one kind, in both directions where the edge has none."""
    kinds = [next(iter(edge.labels)) + ("" if edge.directed else "_both") for edge in pattern.edges]
    return [f'"{kind}" {table}{i}' for i, kind in enumerate(kinds)]


def as_sql(pattern):
    """The count of a pattern as joins, with a left join for each optional edge."""
    ends, conditions = ends_of(pattern, "e")
    tables = ", ".join(tables_of(pattern, "e"))
    conditions += [f"{ends[pattern.names[u]]} <> {ends[pattern.names[w]]}" for u, w in sorted(pattern.distinct)]
    for absent in pattern.conditions:
        both = "" if absent.directed else "_both"
        (kind,) = absent.labels
        inside = f"x.src = {ends[absent.source]} AND x.dst = {ends[absent.target]}"
        conditions.append(f'NOT EXISTS (SELECT 1 FROM "{kind}{both}" x WHERE {inside})')
    text = f"SELECT count(*) FROM {tables} WHERE {' AND '.join(conditions)}"
    if not pattern.optional:
        return text
    columns = ", ".join(f'{end} AS "{name}"' for name, end in ends.items())
    joins = ""
    for number, part in enumerate(pattern.optional):
        own, inside = ends_of(part, f"o{number}_")
        (table,) = tables_of(part, f"o{number}_")
        shared = [f'm."{name}" = {end}' for name, end in own.items() if name in ends]
        joins += f" LEFT JOIN {table} ON {' AND '.join([*shared, *inside])}"
    return f"SELECT count(*) FROM (SELECT {columns} FROM {tables} WHERE {' AND '.join(conditions)}) m{joins}"


def database(graph):
    """A table for each kind of edge, with the labels of its ends."""
    import duckdb

    folder = data_folder()
    edges = pd.read_parquet(folder / f"{graph}.directed.parquet")
    labels = pd.read_parquet(folder / f"{graph}.labels.parquet").set_index("vertex").label
    edges = edges.assign(src_label=edges.src.map(labels), dst_label=edges.dst.map(labels))
    turned = edges.rename(columns={"src": "dst", "dst": "src", "src_label": "dst_label", "dst_label": "src_label"})
    connection = duckdb.connect(config={"threads": 2})
    for suffix, rows in (("", edges), ("_both", pd.concat([edges, turned]))):
        connection.register("given", rows)
        for kind in edges.label.unique():
            connection.execute(
                f'CREATE TABLE "{kind}{suffix}" AS SELECT DISTINCT src, dst, src_label, dst_label FROM given '
                f"WHERE label = '{kind}' AND src <> dst"
            )
        connection.unregister("given")
    return connection


def least_ms(call, repeats):
    """The result of a call, and the least of its milliseconds."""
    times, result = [], None
    for _ in range(repeats):
        begin = time.perf_counter()
        result = call()
        times.append(1e3 * (time.perf_counter() - begin))
    return result, min(times)


def main(
    graph: Annotated[str, typer.Option(help="A graph of LSQB.")] = "lsqb-sf0.003",
    query: Annotated[str, typer.Option(help="Queries, separated by commas; all by default.")] = "",
    repeats: Annotated[int, typer.Option(help="Calls of which the quickest counts.")] = 7,
):
    connection = database(graph)
    csm.count_matches(load_graph(f"{graph}.directed"), LSQB_QUERIES["q7"], semantics="homomorphism")  # compiles
    print(f"{'query':8}{'count':>10}{'first ms':>10}{'warm ms':>10}{'DuckDB ms':>11}{'ratio':>8}")
    for name, text in LSQB_QUERIES.items():
        if query and name not in query.split(","):
            continue
        load_graph.cache_clear()
        fresh = load_graph(f"{graph}.directed")

        def ours(text=text, fresh=fresh):
            return csm.count_matches(fresh, text, semantics="homomorphism")

        _, first = least_ms(ours, 1)
        count, warm = least_ms(ours, repeats)
        sql = as_sql(Pattern.parse(text))
        theirs, other = least_ms(lambda sql=sql: connection.execute(sql).fetchone()[0], repeats)
        mark = " " if count == theirs else "*"
        print(f"{name:8}{count:9}{mark}{first:10.2f}{warm:10.2f}{other:11.2f}{warm / other:8.2f}", flush=True)


if __name__ == "__main__":
    typer.run(main)
