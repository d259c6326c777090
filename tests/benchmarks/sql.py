"""Patterns as SQL over two tables of edges: `up` (s < t, numbered by ascending degree) and `nb` (both directions).

`joins` writes any query as it reads: one table an edge, equal ends, order conditions. `GROUPED` has what one can do by
hand for a pattern that one knows: count triangles per edge, or wedges per pair of ends, in groups, and combine the
numbers. These are formulas and go beyond walking, but for cliques, which are grown from triangles.
"""

from __future__ import annotations

from itertools import combinations

from cases import Query

__all__ = ["GROUPED", "joins"]

TRIANGLES = """
    t as materialized (
        select ab.s a, ab.t b, ac.t c
        from up ab join up ac on ac.s = ab.s and ab.t < ac.t join up bc on bc.s = ab.t and bc.t = ac.t
    )"""
PER_EDGE = """
    r as materialized (
        select a, b, count(*) n
        from (select a, b from t union all select a, c from t union all select b, c from t) group by a, b
    )"""

GROUPED = {
    "4-clique": f"""
        with {TRIANGLES}
        select count(*)
        from t x join t y on x.a = y.a and x.b = y.b and x.c < y.c join up cd on cd.s = x.c and cd.t = y.c""",
    "5-clique": f"""
        with {TRIANGLES},
        f as materialized (
            select x.a, x.b, x.c, y.c d
            from t x join t y on x.a = y.a and x.b = y.b and x.c < y.c join up cd on cd.s = x.c and cd.t = y.c
        )
        select count(*)
        from f x join f y on x.a = y.a and x.b = y.b and x.c = y.c and x.d < y.d
        join up de on de.s = x.d and de.t = y.d""",
    "diamond": f"with {TRIANGLES}, {PER_EDGE} select sum(n * (n - 1) // 2) from r",
    "4-cycle": """
        select sum(n * (n - 1) // 2)
        from (select count(*) n from up x join nb y on y.s = x.s and y.t < x.t group by x.t, y.t)""",
    "tailed-triangle": f"""
        with {TRIANGLES}, d as (select s v, count(*) n from nb group by s)
        select sum(n - 2)
        from (select a v from t union all select b from t union all select c from t) join d using (v)""",
    # The roof (r), times the squares on its edge by wedges (w), less those whose wall is also the roof's tip.
    "house": f"""
        with {TRIANGLES}, {PER_EDGE},
        w as materialized (
            select x.s a, y.t b, count(*) n from nb x join nb y on y.s = x.t and y.t <> x.s group by x.s, y.t
        )
        select
            (select sum(r.n * (w.n - 1))
             from r join nb ax on ax.s = r.a and ax.t <> r.b join w on w.a = ax.t and w.b = r.b)
            - 2 * (select sum(n * (n - 1)) from r)""",
}


def joins(query: Query) -> str:
    """The number of matches of a query as one join of as many tables as it has edges."""
    smaller = set(query.smaller)
    tables, conditions = [], []
    column: dict[int, str] = {}
    for i, edge in enumerate(query.edges):
        a, b = edge[::-1] if edge[::-1] in smaller else edge
        tables.append(f"{'up' if (a, b) in smaller else 'nb'} e{i}")
        for vertex, end in ((a, "s"), (b, "t")):
            if vertex in column:
                conditions.append(f"{column[vertex]} = e{i}.{end}")
            else:
                column[vertex] = f"e{i}.{end}"
                if query.labels is not None:
                    conditions.append(f"e{i}.l{end} = {query.labels[vertex]}")
    joined = {frozenset(edge) for edge in query.edges}
    for a, b in combinations(range(query.size), 2):
        apart = query.labels is not None and query.labels[a] != query.labels[b]
        if frozenset((a, b)) in joined or apart:
            continue
        sign = "<" if (a, b) in smaller else ">" if (b, a) in smaller else "<>"
        conditions.append(f"{column[a]} {sign} {column[b]}")
    return f"select count(*) from {', '.join(tables)} where {' and '.join(conditions)}"
