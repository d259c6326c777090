"""Factors that pairs of entries are looked up in: those that have a table with a place for each key, and one more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.elimination.array_factor import ArrayFactor, Scope
from cusubmatch.engines.gpu.elimination.array_operations import ArrayOperations
from cusubmatch.engines.gpu.elimination.join_kernels import PLACE_NUMBERS, Lookups

__all__ = ["choose_lookups", "make_lookups"]

MAX_PLACES = 1 << 26  # of a table of keys


def choose_lookups(
    do: ArrayOperations, factors: Sequence[ArrayFactor], scope: Scope
) -> tuple[list[ArrayFactor], list[ArrayFactor]]:
    """The factors that products of a scope are looked up in, and those that are left.

    Of the former the first may lack a table: its keys are searched. Others without one are left, to come next.
    """
    inside = [factor for factor in factors if {*factor.scope} <= {*scope}]
    searched = [factor for factor in inside if not _has_table(do, factor)][:1]
    looked_up = [*searched, *(factor for factor in inside if _has_table(do, factor))]
    return looked_up, [factor for factor in factors if not any(factor is one for one in looked_up)]


def make_lookups(do: ArrayOperations, factors: Sequence[ArrayFactor], columns: Sequence[int]) -> Lookups:
    """What kernels look pairs up in: factors from `choose_lookups`, and the first columns that have their keys."""
    xp, searched = do.xp, factors[0] if factors and not _has_table(do, factors[0]) else None
    with_tables = [(factor, at) for factor, at in zip(factors, columns, strict=True) if factor is not searched]
    places, words, entries = [], 0, 0
    for factor, column in with_tables:
        places.append((column, int(factor.is_plain), words, entries))
        words += do.table_words(factor)
        entries += 0 if factor.is_plain else len(factor)
    tables = [do.table(factor) for factor, _ in with_tables]
    values = [factor.values[:, : len(factor)] for factor, _ in with_tables if not factor.is_plain]
    keys, its_values, its_entries, its_words, bits = do.no_moves[None], do.ones, 0, 1, 0
    if searched is not None:
        keys, its_values, its_entries, vertices = searched.keys, searched.values, len(searched), len(searched.scope)
        its_words, bits = do.fields.words(vertices), do.fields.bits_of(vertices, 0)
    return Lookups(
        np.int64(PLACE_NUMBERS * len(with_tables)),
        do.there(np.array(places, np.int64).ravel()) if with_tables else do.no_order,
        _side_by_side(xp, tables, do.no_table),
        _side_by_side(xp, values, do.ones).ravel(),
        np.int64(entries),
        do.ordered(keys, its_entries, its_words, 0, bits, its_entries),
        np.int64(columns[0] if searched is not None else 0),
        its_values.ravel(),
        np.int64(searched is None or searched.is_plain),
    )


def _has_table(do: ArrayOperations, factor: ArrayFactor) -> bool:
    return do.fields.different_keys(len(factor.scope)) <= MAX_PLACES


def _side_by_side(xp: Any, arrays: Sequence[Any], instead: Any) -> Any:
    """Arrays as one, or what is taken instead of none."""
    if len(arrays) == 1:
        return arrays[0]
    return xp.concatenate(arrays, axis=-1) if arrays else instead
