"""Matches joined with the columns of their edges: amounts, times, whatever the edge table holds.

Each pattern edge between named vertices is one join of the matches with the edge table on its two ends; an undirected
pattern edge, which may lie in the table either way round, is joined with the table and its mirror. Parallel edges
multiply: one row comes out per combination.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from cusubmatch.api.argument_types import DataFrameT
from cusubmatch.api.options import as_pattern
from cusubmatch.errors import GraphError
from cusubmatch.frames import Family, as_frame, family_of
from cusubmatch.graph.edge_list import check_ids, checked_name, edge_columns, label_codes
from cusubmatch.graph.labels import absent, codes_of_labels, labels_by_code, warn_absent
from cusubmatch.pattern import Pattern, PatternError

__all__ = ["attach_edges"]

JOIN_KEYS = ("_source_", "_destination_")


def attach_edges(
    matches: DataFrameT,
    P: Pattern | str,
    edges: Any,
    columns: Sequence[Hashable] | None = None,
    *,
    source: Hashable | None = None,
    destination: Hashable | None = None,
    edge_label: Hashable | None = None,
) -> DataFrameT:
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
        Columns of `edges` to join. Default: all but the ends and the label.
    source : column name, optional
        Column of `edges` with the sources. Default: ``source`` or ``src``.
    destination : column name, optional
        Column of `edges` with the destinations. Default: ``destination`` or ``dst``.
    edge_label : column name, optional
        Column of `edges` with the edge labels, if the pattern asks for labels.

    Returns
    -------
    DataFrame
        The columns of `matches`, then per pattern edge and column one named ``{edge}_{column}``, where edge is the
        edge's name (``-[e]->``) or ``{a}_{b}``. One row per combination of parallel edges. Edges that touch an
        anonymous vertex are left out.

    Raises
    ------
    GraphError
        If columns of `edges` are missing or named twice, or its ids cannot be joined with those of `matches`.
    PatternError
        If the pattern cannot be read, is not the one that was matched, or two joined columns would have one name.
    TypeError
        If an argument makes no sense.

    Warns
    -----
    AbsentLabelWarning
        If the pattern asks for an edge label that the table does not have; the warning names the nearest ones.

    See Also
    --------
    subgraph_match : Find the matches.
    iter_matches : Give the matches in batches.

    Examples
    --------
    >>> import pandas as pd
    >>> payments = pd.DataFrame({"src": [1, 2, 2], "dst": [2, 3, 3], "amount": [10, 20, 30]})
    >>> attach_edges(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), "(a)-[p]->(b)-[q]->(c)", payments)
       a  b  c  p_amount  q_amount
    0  1  2  3        10        20
    1  1  2  3        10        30
    """
    pattern = as_pattern(P, "pattern")
    family = family_of(matches)
    if family is None:
        raise TypeError(f"matches: expected a dataframe, got {type(matches).__name__}")
    edges = as_frame(edges)
    if family_of(edges) is not family:
        raise TypeError(f"edges: expected a {family.name} dataframe as matches is, got {type(edges).__name__}")
    table = _edge_table(edges, columns, source, destination, edge_label)
    for name in family.column_names(matches):
        checked_name(family, matches, name, "matches")
    labels = None
    result: Any = matches
    for edge in pattern.edges:
        first, second = pattern.names[edge.source], pattern.names[edge.target]
        if first is None or second is None:
            continue
        ends = (str(first), str(second)) if family.strings_only else (first, second)
        if missing := [end for end in ends if end not in family.column_names(matches)]:
            raise PatternError(f"matches: no column {missing[0]!r}; were they made with this pattern?")
        check_ids(family, table.ids | {"matches": family.column(matches, ends[0])})
        rows = table.frame
        if edge.labels is not None:
            labels = labels or _labels_of(table, pattern)
            rows = family.filter_equal(rows, edge_label, labels.those_of(edge.labels))
        titles = {f"{edge.name or f'{ends[0]}_{ends[1]}'}_{name}": name for name in table.columns}
        if clash := [title for title in titles if title in family.column_names(result)]:
            raise PatternError(f"pattern: two columns would be named {clash[0]!r}; name the edges, as in -[e1]->")
        result = _join(table, result, rows, ends, titles, edge.directed)
    return result


class _EdgeTable(NamedTuple):
    """The columns of the edge table that are used, and their names; `ids` holds both columns of ids."""

    family: Family
    frame: Any
    source: Hashable
    destination: Hashable
    label: Hashable | None
    columns: list[Hashable]
    ids: dict[str, Any]


def _edge_table(
    edges: Any,
    columns: Sequence[Hashable] | None,
    source: Hashable | None,
    destination: Hashable | None,
    edge_label: Hashable | None,
) -> _EdgeTable:
    """Check the names of columns, and select these."""
    family, edges, source, destination = edge_columns(edges, source, destination)
    if columns is not None and (isinstance(columns, str) or not isinstance(columns, Iterable)):
        raise TypeError(f"columns: expected a list of column names, got the {type(columns).__name__} {columns!r}")
    ids = {"source": family.column(edges, source), "destination": family.column(edges, destination)}
    check_ids(family, ids)
    if edge_label is not None:
        checked_name(family, edges, edge_label, "edge_label")
    keys = [source, destination, *([] if edge_label is None else [edge_label])]
    joined = [name for name in family.column_names(edges) if name not in keys] if columns is None else list(columns)
    for name in joined:
        checked_name(family, edges, name, "columns")
    frame = family.select(edges, {name: name for name in dict.fromkeys([*keys, *joined])})
    return _EdgeTable(family, frame, source, destination, edge_label, joined, ids)


class _EdgeLabels(NamedTuple):
    """The labels of an edge table: all values, and the number of each."""

    values: list[Any]
    codes: dict[Hashable, int]

    def those_of(self, wanted: Iterable[Hashable]) -> list[Any]:
        """The values that a pattern edge asks for."""
        return [self.values[code] for code in codes_of_labels(self.codes, wanted)]


def _labels_of(table: _EdgeTable, pattern: Pattern) -> _EdgeLabels:
    """The labels of the table; warns of those of the pattern that it lacks."""
    if table.label is None:
        raise GraphError("edge_label: the pattern has edge labels; name the column of edges that holds them")
    values = label_codes(table.family, table.frame, table.label, "edge_label")[1]
    labels = _EdgeLabels(values, labels_by_code(values))
    lacking = absent("edge", (edge.labels for edge in pattern.edges), labels.codes, values)
    warn_absent({"pattern": f"the column {table.label!r} has {', '.join(lacking)}" if lacking else None})
    return labels


def _join(
    table: _EdgeTable,
    matches: Any,
    rows: Any,
    ends: tuple[Hashable, Hashable],
    titles: dict[str, Hashable],
    directed: bool,
) -> Any:
    """Join rows of the edge table, their columns under new titles, onto matches by the ends of one pattern edge."""
    family = table.family
    sides = [(table.source, table.destination)]
    if not directed:
        sides.append((table.destination, table.source))
    parts = [family.select(rows, dict(zip(JOIN_KEYS, side, strict=True)) | titles) for side in sides]
    right = family.concat(parts) if len(parts) > 1 else parts[0]
    return family.join(matches, right, list(zip(ends, JOIN_KEYS, strict=True)))
