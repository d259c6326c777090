"""The data graphs, found in CUSUBMATCH_DATA or in `../shared/data` beside the repository.

They are not part of the repository; a test that asks for one is skipped where their folder is not there. Their sizes
and counts are: `truth/*.tsv`.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pandas as pd
import pytest
from paths import TESTS, TRUTH


def data_folder() -> Path:
    """The folder of the data graphs; a CUSUBMATCH_DATA that leads nowhere is an error, not a reason to skip."""
    named = os.environ.get("CUSUBMATCH_DATA")
    folder = Path(named) if named else TESTS.parents[1] / "shared" / "data"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"CUSUBMATCH_DATA: {named} is not a folder", pytrace=False)
    pytest.skip("the data graphs are not here: set CUSUBMATCH_DATA to the folder that holds them")


@functools.cache
def load_graph(name: str):
    """The data graph of `NAME.parquet`, with every vertex of its record and the labels that it comes with.

    `NAME.directed` keeps directions; a column `label` of vertices or edges becomes their label.
    """
    import cusubmatch as csm

    folder = data_folder()
    plain = name.removesuffix(".directed")
    edges = pd.read_parquet(folder / f"{name}.parquet")
    labels = folder / f"{plain}.labels.parquet"
    if labels.exists():
        vertices = pd.read_parquet(labels)
    else:
        sizes = pd.read_csv(TRUTH / "graphs.tsv", sep="\t", index_col="graph")
        vertices = pd.DataFrame({"vertex": range(sizes.loc[plain, "vertices"])})
    return csm.Graph.from_edgelist(
        edges,
        "src",
        "dst",
        directed=name.endswith(".directed"),
        edge_label="label" if "label" in edges else None,
        vertices=vertices,
        vertex_label="label" if "label" in vertices else None,
    )
