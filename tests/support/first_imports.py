"""Each process of pytest-xdist imports a share of its own first, so that no two compile the same source to bytecode.

All import the same libraries and test files in the same order. On a fresh installation, none of which has been imported
before, each would compile all of them, which takes half a minute; so each finds compiled what the others began with.
"""

from __future__ import annotations

import contextlib
import importlib

import pytest
from paths import TESTS

LIBRARIES = ("pandas", "numba"), ("polars", "networkx"), ("dask.dataframe", "distributed")  # a pair takes as long


def import_share(config: pytest.Config) -> None:
    """Import what is this process's share where there are several; an error is left to those who import it again."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    number, processes = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    files = [path.stem for path in sorted(TESTS.rglob("test_*.py"))]
    for name in [row[number % 2] for row in LIBRARIES] + files[number::processes]:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)
