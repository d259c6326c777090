"""Matches joined with the columns of their edges: amounts, times, whatever the edge table holds.

Each pattern edge between named vertices is one join of the matches with the edge table on its two ends; an undirected
pattern edge, which may lie in the table either way round, is joined with the table and its mirror. Parallel edges
multiply: one row comes out per combination.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cusubmatch.errors import GraphError
from cusubmatch.execution.query import as_pattern
from cusubmatch.frames import as_frame, family_of
from cusubmatch.graph.edge_list import check_ids, checked_name, edge_columns, label_codes
from cusubmatch.graph.labels import absent, codes_of_labels, labels_by_code, warn_absent
from cusubmatch.pattern import Pattern, PatternError

__all__ = ["attach_edges"]


def attach_edges(
    matches, P: Pattern | str, edges, columns: Sequence | None = None, *, source=None, destination=None, edge_label=None
):
    """Join the columns of their edges onto matches.

    Parameters
    ----------
    matches : DataFrame
        What `subgraph_match` or a batch of `iter_matches` returned.
    P : Pattern or str
        The pattern that was matched.
    edges : DataFrame of the same family
        The edge table that the graph was made of.
    columns : list of column names, optional
        Columns of `edges` to join; default all but the ends and the label.
    source, destination : column names, optional
        Default: ``source, destination`` or ``src, dst``.
    edge_label : column name, optional
        Column with the edge labels, if the pattern asks for labels.

    Returns
    -------
    DataFrame
        The columns of `matches`, then per pattern edge and column one named ``{edge}_{column}``, where edge is the
        edge's name (``-[e]->``) or ``{a}_{b}``. One row per combination of parallel edges. Edges that touch an
        anonymous vertex are left out.

    Raises
    ------
    GraphError, PatternError, TypeError
        If columns are missing or named twice, or the names of two joined columns are the same.
    """
    pattern = as_pattern(P, "pattern")
    family = family_of(matches)
    if family is None:
        raise TypeError(f"matches: expected a dataframe, got {type(matches).__name__}")
    edges = as_frame(edges)
    if family_of(edges) is not family:
        raise TypeError(f"edges: expected a {family.name} dataframe as matches is, got {type(edges).__name__}")
    family, edges, source, destination = edge_columns(edges, source, destination)
    names = family.column_names(edges)
    if columns is not None and (isinstance(columns, str) or not isinstance(columns, Iterable)):
        raise TypeError(f"columns: expected a list of column names, got the {type(columns).__name__} {columns!r}")
    ids = {"source": family.column(edges, source), "destination": family.column(edges, destination)}
    check_ids(family, ids)
    if edge_label is not None:
        checked_name(family, edges, edge_label, "edge_label")
    wanted = (
        [name for name in names if name not in (source, destination, edge_label)] if columns is None else list(columns)
    )
    for name in wanted:
        checked_name(family, edges, name, "columns")
    for name in family.column_names(matches):
        checked_name(family, matches, name, "matches")
    used = dict.fromkeys([source, destination, *([] if edge_label is None else [edge_label]), *wanted])
    edges = family.select(edges, {name: name for name in used})
    result, known = matches, None
    values: list = []
    for edge in pattern.edges:
        ends = pattern.names[edge.source], pattern.names[edge.target]
        if None in ends:
            continue
        if family.strings_only:
            ends = str(ends[0]), str(ends[1])
        if missing := [end for end in ends if end not in family.column_names(matches)]:
            raise PatternError(f"matches: no column {missing[0]!r}; were they made with this pattern?")
        check_ids(family, ids | {"matches": family.column(matches, ends[0])})
        table = edges
        if edge.labels is not None:
            if edge_label is None:
                raise GraphError("edge_label: the pattern has edge labels; name the column of edges that holds them")
            if known is None:
                values = label_codes(family, edges, edge_label, "edge_label")[1]
                known = labels_by_code(values)
                lacking = absent("edge", (some.labels for some in pattern.edges), known, values)
                warn_absent({"pattern": f"the column {edge_label!r} has {', '.join(lacking)}" if lacking else None})
            wanted_labels = [values[code] for code in codes_of_labels(known, edge.labels)]
            table = family.filter_equal(edges, edge_label, wanted_labels)
        titles = {f"{edge.name or f'{ends[0]}_{ends[1]}'}_{name}": name for name in wanted}
        if clash := [title for title in titles if title in family.column_names(result)]:
            raise PatternError(f"pattern: two columns would be named {clash[0]!r}; name the edges, as in -[e1]->")
        result = _join(family, result, table, ends, titles, source, destination, edge.directed)
    return result


def _join(family, matches, table, ends, titles, source, destination, directed):
    keys = ("_source_", "_destination_")
    sides = [(source, destination)] if directed else [(source, destination), (destination, source)]
    parts = [family.select(table, {keys[0]: first, keys[1]: second} | titles) for first, second in sides]
    right = family.concat(parts) if len(parts) > 1 else parts[0]
    return family.join(matches, right, list(zip(ends, keys, strict=True)))
