"""Rows of internal vertices as single numbers, to look them up in one another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["has_keys", "places_of", "products", "row_keys", "sum_of_products"]

SAFE = 1 << 62  # sums of int64 products stay below


def has_keys(n_vertices: int, columns: int) -> bool:
    """Whether `row_keys` are the same beside whichever tables."""
    return max(n_vertices, 1) ** columns < 1 << 63


def row_keys(n_vertices: int, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For each table (columns, rows) an int64 number a row; equal for equal rows, in whichever table."""
    if has_keys(n_vertices, len(tables[0])):
        keys = []
        for table in tables:
            key = np.zeros(table.shape[1], np.int64)
            for column in table:
                key *= n_vertices
                key += column
            keys.append(key)
        return keys
    whole = np.concatenate(tables, axis=1)
    _, codes = np.unique(whole, axis=1, return_inverse=True)
    ends = np.cumsum([table.shape[1] for table in tables])[:-1]
    return np.split(codes.reshape(-1).astype(np.int64), ends)


def places_of(keys: np.ndarray, sorted_keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each key begins and ends among sorted ones."""
    return np.searchsorted(sorted_keys, keys, "left"), np.searchsorted(sorted_keys, keys, "right")


def products(factors: list[np.ndarray]) -> np.ndarray:
    """The product of arrays, element by element: int64, or Python's integers where their sum might overflow."""
    if not len(factors[0]):
        return np.zeros(0, np.int64)
    largest = math.prod(int(factor.max()) for factor in factors) * len(factors[0])
    arrays = factors if largest < SAFE else [factor.astype(object) for factor in factors]
    return math.prod(arrays[1:], start=arrays[0])


def sum_of_products(factors: list[np.ndarray]) -> int:
    """Exact at any size."""
    return int(products(factors).sum())
