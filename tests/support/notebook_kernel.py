"""Notebooks run in a kernel of their own, as Jupyter starts it."""

from __future__ import annotations

import os

from nbclient import NotebookClient
from notebook_cells import ONCE
from paths import ROOT


def execute(notebook, folder, settings):
    """Run the cells of a notebook in a folder; `settings` is where it keeps what is its own or temporary."""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths, "IPYTHONDIR": str(settings), "TMPDIR": str(settings)}
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)


def outputs_of(cell):
    """What a cell shows, less what only a first run says."""
    return [o for o in cell.outputs if not (o.output_type == "stream" and o.text.startswith(ONCE))]
