"""Matches joined with the columns of their edges: amounts, times, whatever the edge table holds.

Each pattern edge between named vertices is one join of the matches with the edge table on its two ends; an undirected
pattern edge, which may lie in the table either way round, is joined with the table and its mirror. Parallel edges
multiply: one row comes out per combination.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from cusubmatch.api.argument_types import DataFrameT
from cusubmatch.api.edge_attachment import attachment_of
from cusubmatch.api.options import check_options
from cusubmatch.errors import ResultTooLarge
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import result_budget
from cusubmatch.io.targets import check_rows
from cusubmatch.pattern import Pattern

__all__ = ["attach_edges", "iter_attached_edges"]


def attach_edges(
    matches: DataFrameT,
    P: Pattern | str,
    edges: Any,
    columns: Sequence[Hashable] | None = None,
    *,
    source: Hashable | None = None,
    destination: Hashable | None = None,
    edge_label: Hashable | None = None,
    memory_limit: int | None = None,
) -> DataFrameT:
    """Join the columns of their edges onto matches.

    Every combination of parallel edges is a row. Their number is known before they are made; `iter_attached_edges`
    gives them in batches.

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
    memory_limit : int, optional
        Bytes that the rows may take. Default: most of the free memory.

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
    ResultTooLarge
        If the rows do not fit in memory; the message says how many they would be.
    TypeError, ValueError
        If an argument makes no sense.

    Warns
    -----
    AbsentLabelWarning
        If the pattern asks for an edge label that the table does not have; the warning names the nearest ones.

    See Also
    --------
    iter_attached_edges : Give the rows in batches.
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
    check_options(QueryOptions(memory_limit=memory_limit))
    attachment = attachment_of(matches, P, edges, columns, source, destination, edge_label)
    rows, row_bytes = int(attachment.rows_of_matches().sum()), attachment.row_bytes
    if rows * row_bytes > result_budget(memory_limit, attachment.family.xp()):
        raise ResultTooLarge(
            f"attaching the edges makes {rows:,} rows of {attachment.width} columns, one for each combination of "
            "parallel edges, which do not fit in memory; use iter_attached_edges for batches, or conditions on the "
            "edges and edges='each'"
        )
    return attachment.joined(matches)


def iter_attached_edges(
    matches: DataFrameT,
    P: Pattern | str,
    edges: Any,
    columns: Sequence[Hashable] | None = None,
    *,
    source: Hashable | None = None,
    destination: Hashable | None = None,
    edge_label: Hashable | None = None,
    batch_rows: int = 1_000_000,
) -> Iterator[DataFrameT]:
    """Join the columns of their edges onto matches, some matches at a time.

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
    batch_rows : int
        The most rows of a batch; a match whose combinations are more makes a batch of its own.

    Returns
    -------
    iterator of DataFrame
        What `attach_edges` returns of some matches, one after the other in their order.

    Raises
    ------
    GraphError
        If columns of `edges` are missing or named twice, or its ids cannot be joined with those of `matches`; this and
        all other errors come before the first batch.
    PatternError
        If the pattern cannot be read, is not the one that was matched, or two joined columns would have one name.
    TypeError, ValueError
        If an argument makes no sense.

    Warns
    -----
    AbsentLabelWarning
        If the pattern asks for an edge label that the table does not have; the warning names the nearest ones.

    See Also
    --------
    attach_edges : All rows at once.

    Examples
    --------
    >>> import pandas as pd
    >>> payments = pd.DataFrame({"src": [1, 2, 2], "dst": [2, 3, 3], "amount": [10, 20, 30]})
    >>> matches = pd.DataFrame({"a": [1, 2], "b": [2, 3]})
    >>> [len(batch) for batch in iter_attached_edges(matches, "(a)-[p]->(b)", payments, batch_rows=2)]
    [1, 2]
    """
    check_rows("batch_rows", batch_rows)
    attachment = attachment_of(matches, P, edges, columns, source, destination, edge_label)
    return attachment.batches(matches, int(batch_rows))
