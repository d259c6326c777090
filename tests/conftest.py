"""What the tests share: the data graphs, found in CUSUBMATCH_DATA or in `../shared/data` beside the repository.

The graphs are not part of the repository; a test that asks for one is skipped where their folder is not there. Their
sizes and counts are: `truth/*.tsv`.
"""

from __future__ import annotations

import functools
import os
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from paths import TESTS, TRUTH
from tiers import one_each  # and the profiles of hypothesis, which --hypothesis-profile names


def pytest_addoption(parser):
    parser.addoption("--engine", choices=["gpu"], help="let every call without engine= run on the GPU")


def pytest_configure(config):
    if config.getoption("--engine") == "gpu":
        from cusubmatch.engines import registry as engines

        engines.check_engine("gpu")
        engines.MIN_ARCS_WORTH_COPYING = 0


# Test files that compile the same kernels run in one process, one after another; any other file may run in any process.
SHARED_KERNELS = {
    "test_gpu_walk.py": "walker",
    "test_gpu_suffix.py": "walker",
    "test_gpu_sample.py": "walker",
    "test_gpu_progress.py": "walker",
    "test_task_ranges.py": "walker",
    "test_unload.py": "walker",
    "test_gpu_tables.py": "tables",
    "test_gpu_counters.py": "tables",
}


@pytest.hookimpl(tryfirst=True)  # before -m selects and pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xdist_group(SHARED_KERNELS.get(item.path.name, item.path.name)))
    marked = [item for item in items if item.get_closest_marker("one_each") and hasattr(item, "callspec")]
    for _, group in groupby(marked, key=lambda item: (item.fspath, item.originalname)):
        parameters = list(group)
        kept = one_each(parameters)
        for item in parameters:
            if item not in kept:
                item.add_marker("thorough")


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


@pytest.fixture(scope="session")
def data_path():
    """A file's path in the folder of the data graphs: `data_path("yeast.queries.parquet")`."""
    return lambda name: data_folder() / name


@pytest.fixture(scope="session")
def data_graph():
    """A data graph by name, loaded once a session: `data_graph("karate")`, `data_graph("lsqb-example.directed")`."""
    return load_graph


@pytest.fixture(scope="module")
def skewed():
    """An undirected graph of 256 vertices with hubs."""
    from cusubmatch import Graph
    from cusubmatch.generators import rmat

    return Graph.from_edgelist(rmat(8, 6, seed=3))


@pytest.fixture(scope="module")
def labelled():
    """A directed graph of 200 vertices with hubs, two vertex labels and two edge labels."""
    from strategies import skewed_rows

    from cusubmatch import Graph

    random = np.random.default_rng(5)
    source, target = skewed_rows()
    edges = pd.DataFrame({"src": source, "dst": target, "kind": random.choice(["X", "Y"], len(source))})
    vertices = pd.DataFrame({"vertex": range(200), "label": random.choice(["A", "B"], 200)})
    return Graph.from_edgelist(edges, directed=True, edge_label="kind", vertices=vertices, vertex_label="label")
