"""The cells of a notebook, run without Jupyter: for machines that have the GPUs and not its packages.

    python notebook_cells.py NOTEBOOK EXECUTED

Cells run in order as a module `__main__` of their own, as in a kernel. What a cell prints, the value of its last
expression (text and HTML), and its figures are its outputs, in the format of notebooks. Of IPython's own there is
nothing: no magic, no `display`. What only a first run says, that something is compiled, is left out.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import linecache
import os
import sys
import types
from pathlib import Path

__all__ = ["ONCE", "read_cells", "run_cells", "said_in"]

ONCE = ("cusubmatch: compiling", "Matplotlib is building the font cache")  # said on stderr by the first run of all


def read_cells(path):
    """The notebook, and its cells of code."""
    notebook = json.loads(Path(path).read_text(encoding="utf-8"))
    return notebook, [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cells(cells):
    """Run cells of code and set their outputs; raise what a cell raises, with the outputs of those before kept."""
    module, before = types.ModuleType("__main__"), sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        for number, cell in enumerate(cells, 1):
            cell["execution_count"], cell["outputs"] = number, []
            _run(cell, number, module.__dict__)
    finally:
        sys.modules["__main__"] = before


def said_in(cells):
    """All text in the outputs of cells, its white space made single blanks."""
    outputs = [output for cell in cells for output in cell["outputs"]]
    texts = [output["text"] if "text" in output else output["data"].get("text/plain", "") for output in outputs]
    return " ".join(" ".join("".join(text) for text in texts).split())


def _run(cell, number, namespace):
    source, name = "".join(cell["source"]), f"<cell {number}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name  # for tracebacks
    tree = ast.parse(source, name)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value, printed, warned = None, io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(warned), _figures(cell["outputs"]):
            exec(compile(tree, name, "exec"), namespace)
            if last is not None:
                value = eval(compile(last, name, "eval"), namespace)
    finally:
        for kind, stream in (("stderr", warned), ("stdout", printed)):
            lines = stream.getvalue().splitlines(keepends=True)
            if text := [line for line in lines if not line.startswith(ONCE)]:
                cell["outputs"].insert(0, {"output_type": "stream", "name": kind, "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if (markup := getattr(value, "_repr_html_", lambda: None)()) is not None:
            data["text/html"] = markup.splitlines(keepends=True)
        cell["outputs"].append(
            {"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}}
        )


@contextlib.contextmanager
def _figures(outputs):
    """What `plt.show()` shows goes to the outputs as PNG."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    for figure in map(pyplot.figure, pyplot.get_fignums()) if pyplot else ():
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=72, bbox_inches="tight")
        data = {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": [repr(figure)]}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    if pyplot:
        pyplot.close("all")


def main(source, executed):
    """Run a notebook, and write it with its outputs, also where a cell fails."""
    os.environ.setdefault("MPLBACKEND", "agg")
    notebook, cells = read_cells(source)
    try:
        run_cells(cells)
    finally:
        Path(executed).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(said_in(cells))


if __name__ == "__main__":
    main(*sys.argv[1:])
