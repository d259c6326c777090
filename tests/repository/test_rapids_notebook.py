"""The notebook that needs GPUs, and its cells run without Jupyter, as on the machines that have them."""

import os
import subprocess
import sys

import pytest
from notebook_cells import read_cells, run_cells, said_in
from paths import ROOT, TESTS

from cusubmatch.system.gpu_presence import gpus

RAPIDS = ROOT / "notebooks" / "rapids_etl.ipynb"
SAID_ANYWHERE = [
    "122,771 rows in 4 files, 60 accounts in 10 gangs",
    "122,771 rows read, 120,743 payments kept, 3,334,358,606 cents",
    "Graph(20,000 vertices, 117,482 directed edges)",
    "of 3,562 rings of four accounts",
    "0 537 19294 10474 16567 73925 57322 30718 69742",
    "212 payments on rings, 1,638,049 cents sent, 11.3% lost on the way",
    "0 MT FR 349932 13",
    "10 components of 60 accounts, 60 of them planted",
    "10 of 10 gangs are whole in one component",
    "537 640398 5 6",
    "2 workers, 53 rings in 4 partitions",
    "the same rings: True; the same sums: True",
    "3364 52083 1",
]
SAID_WITHOUT_A_GPU = ["dataframes are of pandas", "53 rings in a pandas dataframe", "components are networkx's"]
SAID_WITH_GPUS = ["dataframes are of cudf", "53 rings in a cudf dataframe"]
CELLS = [
    """import sys
seen = []
def double(number):
    return 2 * number
print("first")
print("warned", file=sys.stderr)""",
    "seen.append(1)\ndouble(21)",
    "double.__module__",
    "1 / 0",
]


def missing_in(cells):
    """What the notebook should say on GPUs, and does not."""
    text = said_in(cells)
    return [said for said in SAID_ANYWHERE + SAID_WITH_GPUS if said not in text]


def test_cells_run_in_order_in_one_module_and_an_error_keeps_what_was_said_before():
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in CELLS]
    main = sys.modules["__main__"]
    with pytest.raises(ZeroDivisionError):
        run_cells(cells)
    assert sys.modules["__main__"] is main
    assert [(output["name"], output["text"]) for output in cells[0]["outputs"]] == [
        ("stdout", ["first\n"]),
        ("stderr", ["warned\n"]),
    ]
    assert said_in(cells) == "first warned 42 '__main__'"
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4]


def test_the_outputs_that_the_notebook_keeps_are_those_of_gpus():
    _, cells = read_cells(RAPIDS)
    assert missing_in(cells) == []
    assert sum("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"]) == 1


@pytest.mark.mg
@pytest.mark.skipif(len(gpus()) != 2, reason="the figures are those of two GPUs")
def test_the_notebook_says_on_gpus_what_it_says_with_pandas(tmp_path):
    pytest.importorskip("matplotlib")
    executed = tmp_path / "executed.ipynb"
    command = [sys.executable, str(TESTS / "support" / "notebook_cells.py"), str(RAPIDS), str(executed)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    subprocess.run(command, check=True, timeout=500, cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths})
    assert missing_in(read_cells(executed)[1]) == []
