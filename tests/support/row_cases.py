"""Row patterns for tests: read from text, counted by trying all rows, and the tables of `temporal/counts.tsv`."""

from __future__ import annotations

import re
from itertools import combinations, product

import numpy as np

from cusubmatch.graph.edge_rows import edge_rows
from cusubmatch.graph.masked_rows import masked_rows
from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.rows.row_plan import RowEdge, RowPattern

HOP = re.compile(r"\((\w+)\)|(-)\[(\w+)\]-(>?)")


def closed(windows):
    """Difference constraints closed under transitivity (Floyd and Warshall)."""
    n = len(windows)
    for k, i, j in product(range(n), repeat=3):
        if windows[i][k] < NO_BOUND and windows[k][j] < NO_BOUND:
            windows[i][j] = min(windows[i][j], windows[i][k] + windows[k][j])
    return windows


def pattern_of(text, delta=None):
    """A row pattern from a text with differences of times and `id(x) < id(y)` in WHERE; every edge is bound."""
    body, _, where = text.partition(" WHERE ")
    names, edges, edge_names = {}, [], {}
    for path in body.split(", "):
        at, edge = None, None
        for vertex, _, name, arrow in HOP.findall(path):
            if vertex:
                now = names.setdefault(vertex, len(names))
                if edge is not None:
                    edge_names[edge[0]] = len(edges)
                    edges.append(RowEdge(at, now, relation=0 if edge[1] else 1))
                at, edge = now, None
            else:
                edge = name, arrow
    windows = [[0 if e == f else NO_BOUND for f in range(len(edges))] for e in range(len(edges))]
    vertex_order = []
    for condition in filter(None, where.split(" AND ")):
        if match := re.fullmatch(r"id\((\w+)\) < id\((\w+)\)", condition):
            vertex_order.append((names[match[1]], names[match[2]]))
        elif match := re.fullmatch(r"(\w+)\.time < (\w+)\.time", condition):
            e, f = edge_names[match[1]], edge_names[match[2]]
            windows[f][e] = min(windows[f][e], -1)
        else:
            match = re.fullmatch(r"(\w+)\.time - (\w+)\.time <= \$D", condition)
            e, f = edge_names[match[2]], edge_names[match[1]]
            windows[e][f] = min(windows[e][f], delta)
    return RowPattern(
        len(names),
        tuple(edges),
        tuple(map(tuple, closed(windows))),
        distinct=frozenset(combinations(range(len(names)), 2)),
        vertex_order=tuple(vertex_order),
        different_rows=tuple(combinations(range(len(edges)), 2)),
    )


def relations_of(n, source, target, times):
    """Relation 0: rows in their direction; relation 1: in both."""
    columns = np.asarray(source, np.int32), np.asarray(target, np.int32)
    times = None if times is None else np.asarray(times, np.int64)
    return tuple(edge_rows(n, *columns, times, directed=directed) for directed in (True, False))


class RowTable:
    """An edge table as lists, and the relations that patterns number: in their direction and in both, masked or not."""

    def __init__(self, n, source, target, times, mask):
        self.n, self.source, self.target, self.times, self.mask = n, source, target, times, mask
        plain = relations_of(n, source, target, times)
        self.relations = (*plain, *(masked_rows(rows, np.array(mask, bool)) for rows in plain))

    def rows_between(self, relation, x, y):
        """The rows of a relation from x to y."""
        rows = []
        for row, ends in enumerate(zip(self.source, self.target, strict=True)):
            both_ways = relation % 2 == 1 and ends == (y, x)
            if x != y and (ends == (x, y) or both_ways) and (relation < 2 or self.mask[row]):
                rows.append(row)
        return rows


def all_matches(pattern, table, vertex_masks, holds=lambda condition, images, rows: True):
    """All matches, by trying: tuples of vertices, and of the rows of bound edges but for existential patterns."""
    found = []
    for images in product(range(table.n), repeat=pattern.n_vertices):
        if not _vertices_fit(pattern, table, vertex_masks, images):
            continue
        choices = [table.rows_between(e.relation, images[e.source], images[e.target]) for e in pattern.edges]
        if not all(choices):
            continue
        bound = pattern.bound_edges
        fitting = [
            rows
            for rows in product(*(choices[e] for e in bound))
            if _rows_fit(pattern, table, dict(zip(bound, rows, strict=True)))
            and all(holds(c, images, dict(zip(bound, rows, strict=True))) for c in pattern.conditions)
        ]
        found += [(images, ())] if pattern.existential and fitting else []
        found += [(images, rows) for rows in fitting if not pattern.existential]
    return found


def _vertices_fit(pattern, table, vertex_masks, images):
    return (
        all(images[u] != images[w] for u, w in pattern.distinct)
        and all(images[u] < images[w] for u, w in pattern.vertex_order)
        and not any(table.rows_between(relation, images[u], images[w]) for u, w, relation in pattern.forbidden)
        and all(mask is None or mask[x] for mask, x in zip(vertex_masks, images, strict=True))
    )


def _rows_fit(pattern, table, row_of):
    for e, row in row_of.items():
        for f, other in row_of.items():
            if table.times is not None and table.times[other] - table.times[row] > pattern.windows[e][f]:
                return False
    if pattern.existential:
        return True
    return all(row_of[p] < row_of[q] for p, q in pattern.row_order) and all(
        row_of[p] != row_of[q] for p, q in pattern.different_rows if p in row_of and q in row_of
    )
