"""A uniform sample of the rows of matches with parts: matches are walked, and only rows of the sample are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cusubmatch.execution.compound.joined_query import JoinedQuery
from cusubmatch.execution.compound.part_tables import PartTable
from cusubmatch.execution.compound.row_choice import ChosenRow, RowChoice
from cusubmatch.execution.compound.row_keys import products

__all__ = ["joined_sample"]


def joined_sample(query: JoinedQuery, n: int, key: int, check: Callable[[int], object]) -> tuple[Any, int]:
    """A dataframe of `n` of the rows of a call, or of all, and their number; `check` is told how many are kept.

    Raises
    ------
    DeadlinePassed
    """
    choice, tables = RowChoice(n, key), list[tuple[PartTable, ...]]()
    queries = (query, *query.parts)
    for number, joined in enumerate(queries):
        tables.append(())
        blocks = joined.matches_and_tables(None)
        try:
            for matches, tables[number] in blocks:
                factors = [table.factors(matches, query.graph.n_vertices) for table in tables[number]]
                rows = products([np.ones(matches.shape[1], np.int64), *factors])
                choice.add(matches, rows, number)
                check(min(choice.kept, n))
        finally:
            blocks.close()
    chosen = choice.chosen()
    sample = np.empty((len(query.columns()), sum(len(joined.places) for joined in chosen)), np.int64)
    for some, call, own in zip(chosen, queries, tables, strict=False):  # an expansion without matches may have none
        sample[:, some.places] = _rows(some, call, own)
    return query.frame([sample]), choice.count


def _rows(chosen: ChosenRow, query: JoinedQuery, tables: tuple[PartTable, ...]) -> np.ndarray:
    """The rows that are meant by their numbers: a digit for each part."""
    n, matches, of, numbers = query.graph.n_vertices, chosen.matches, chosen.of, chosen.numbers
    lines = [matches[:, of].astype(np.int64)]
    for table in tables:
        factors = table.factors(matches, n)[of]
        lines.append(table.extensions(matches, of, (numbers % factors).astype(np.int64), n).astype(np.int64))
        numbers = numbers // factors
    return np.concatenate(lines)[query.columns_of(len(chosen.matches), tables)]
