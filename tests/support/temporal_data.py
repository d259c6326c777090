"""Temporal graphs and counts of `temporal/` among the data graphs, ready to be walked by rows."""

from __future__ import annotations

import functools
import importlib.util

import numpy as np
import pandas as pd
from data_graphs import data_folder

from cusubmatch.graph.edge_rows import edge_rows

PAYMENTS = {"payments-1M": (100_000, 1_000_000, 7), "payments-5M": (500_000, 5_000_000, 7)}


@functools.cache
def temporal_table(name):
    """Columns src, dst and time of a temporal graph; vertices are numbered by degree."""
    folder = data_folder() / "temporal"
    if name in PAYMENTS:
        specification = importlib.util.spec_from_file_location("payments", folder / "payments.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        table = pd.DataFrame(module.payments(*PAYMENTS[name])[0])
    else:
        table = pd.read_parquet(folder / f"{name}.parquet")
    n = int(table[["src", "dst"]].max().max()) + 1
    degrees = np.bincount(table.src, minlength=n) + np.bincount(table.dst, minlength=n)
    ranks = np.empty(n, np.int32)
    ranks[np.argsort(degrees, kind="stable")] = np.arange(n)
    return table.assign(src=ranks[table.src], dst=ranks[table.dst], time=table.time.astype(np.int64))


@functools.cache
def temporal_rows(name):
    """Its rows, in their direction."""
    table = temporal_table(name)
    n = int(table[["src", "dst"]].max().max()) + 1
    return edge_rows(n, table.src.to_numpy(), table.dst.to_numpy(), table.time.to_numpy(), directed=True)


def temporal_counts(name):
    """The recorded counts of a graph: columns name, delta, count (times strictly increasing; NA: unknown), pattern."""
    counts = pd.read_csv(data_folder() / "temporal" / "counts.tsv", sep="\t")
    return counts[counts.graph == name].convert_dtypes()
