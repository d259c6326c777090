"""What the tests share: graphs, and which tests run in which tier and process."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading
from itertools import groupby

import pytest
from first_imports import import_share
from tiers import one_each  # and the profiles of hypothesis, which --hypothesis-profile names

# What else is needed is imported where it is: the process that hands out tests to others waits for nothing.

MOST_S = 60.0  # that a compiler is waited for


def pytest_addoption(parser):
    parser.addoption("--engine", choices=["gpu"], help="let every call without engine= run on the GPU")


def pytest_configure(config):
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # children would compile pandas again and again
        os.environ["PYTHONPYCACHEPREFIX"] = folder = tempfile.mkdtemp(prefix="bytecode-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
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
    "test_several_devices.py": "walker",
    "test_gpu_tables.py": "tables",
    "test_gpu_counters.py": "tables",
}
LONGEST = "test_conditioning.py"  # compiles for a minute what no other file needs before, so it is handed out first


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    """Hand out files, not tests, to the processes; tests with --dist worksteal, for machines with many cores."""
    if config.getoption("dist") == "worksteal":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByKernels(LoadScopeScheduling):
        def _assign_work_unit(self, node):
            if LONGEST in self.workqueue:
                self.workqueue.move_to_end(LONGEST, last=False)
            super()._assign_work_unit(node)

        def _split_scope(self, nodeid):
            file = nodeid.split("::", 1)[0].rsplit("/", 1)[-1]
            return SHARED_KERNELS.get(file, file)

    return ByKernels(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    gc.disable()  # nearly all that is made from here on stays
    if session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        import_share(session.config)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    marked = [item for item in items if item.get_closest_marker("one_each") and hasattr(item, "callspec")]
    marked = [item for item in marked if not item.get_closest_marker("thorough")]
    for _, group in groupby(marked, key=lambda item: (item.fspath, item.originalname)):
        parameters = list(group)
        kept = one_each(parameters)
        for item in parameters:
            if item not in kept:
                item.add_marker("thorough")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """What is loaded by now stays: the collector of cycles does not look at it again, and at the rest less often."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 50)


def pytest_runtest_teardown():
    """Wait for a compiler that a test has left behind: as it ends, it sets the filters of warnings of others back."""
    for thread in threading.enumerate():
        if thread.name == "cusubmatch compiler" and not thread.daemon:
            thread.join(MOST_S)


@pytest.fixture(scope="session")
def data_path():
    """A file's path in the folder of the data graphs: `data_path("yeast.queries.parquet")`."""
    from data_graphs import data_folder

    return lambda name: data_folder() / name


@pytest.fixture(scope="session")
def data_graph():
    """A data graph by name, loaded once a session: `data_graph("karate")`, `data_graph("lsqb-example.directed")`."""
    from data_graphs import load_graph

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
    import numpy as np
    import pandas as pd
    from strategies import skewed_rows

    from cusubmatch import Graph

    random = np.random.default_rng(5)
    source, target = skewed_rows()
    edges = pd.DataFrame({"src": source, "dst": target, "kind": random.choice(["X", "Y"], len(source))})
    vertices = pd.DataFrame({"vertex": range(200), "label": random.choice(["A", "B"], 200)})
    return Graph.from_edgelist(edges, directed=True, edge_label="kind", vertices=vertices, vertex_label="label")
