"""What a notebook shows, and that the notebooks of this repository run as a user would run them."""

from __future__ import annotations

import html
import re
import time

import pandas as pd
import pytest

import cusubmatch as csm
from cusubmatch.display import notebook

nbformat = pytest.importorskip("nbformat")
from notebook_kernel import ROOT, execute, outputs_of  # noqa: E402 - needs nbclient
from test_rapids_notebook import RAPIDS, SAID_ANYWHERE, SAID_WITHOUT_A_GPU  # noqa: E402

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIGURES = {"first_steps": 0, "payments": 3, "proteins": 3, "query_sets": 0, RAPIDS.stem: 1}
SAID = {
    "first_steps": ["550 rings, 2375 ways to choose their payments", "counting: done, 28,150 matches", "(2, 12, 6)"],
    "payments": [
        "40 rings, of 3,501 rings of four accounts",
        "10 known accounts are on 9 rings, which lead to 26 other accounts 100% of these are on planted rings",
        "WHERE s.time - p.time <= $window: a window of time, tested here",
        *("every ring 4573 0.035 1.0", "and window 257 0.623 1.0", "and countries 160 1.000 1.0"),
        # Counted by self joins in DuckDB, as in test_examples.py.
        *("within 30 days 418 0.342 0.079", "within 10% 170 0.782 0.074", "within 1% 105 1.000 0.058"),
        "below 50 dollars: precision 1.000, recall 0.681",
    ],
    "proteins": [
        "3,112 proteins of 71 classes, 12,519 interactions",
        "6,590 triangles of 653 kinds",
        "class 36: 3,764 matches around 165 proteins",
        "43 queries, 43 counted as recorded, the largest 2e+13",
        "100,000 rows of 32 proteins",
    ],
    "query_sets": [
        "200 queries, such as (a:Fraud)-->(b:Fraud), (b:Fraud)-->(c:Clean), (c:Clean)-->(a:Fraud)",
        "200 of 200 done, 1 worker killed",
        "10 of 10 compared are equal",
        "3458 rings of 4 in 4 partitions",
    ],
    RAPIDS.stem: [*SAID_ANYWHERE, *SAID_WITHOUT_A_GPU],
}

CELLS = {
    "start": """
import warnings
import pandas as pd
import cusubmatch as csm
warnings.simplefilter("error")
G = csm.Graph.from_edgelist(csm.generators.rmat(8, 6, seed=3))
triangle = csm.Pattern.parse("(a)--(b)--(c)--(a)")
""",
    "count": 'csm.count_matches(G, "(a)--(b)--(c)--(a)", progress=True)',
    "rows": 'len(csm.subgraph_match(G, "(a)--(b)--(c)", progress=True, limit=5))',
    "first batch": 'len(next(csm.iter_matches(G, "(a)--(b)--(c)--(d)", progress=True, batch_rows=10)))',
    "time limit": """
try:
    csm.count_matches(G, csm.Pattern.cycle(9), progress=True, time_limit=0.2, engine="cpu")
except csm.TimeLimitExceeded:
    print("too long")
""",
    "plan": "csm.explain(G, triangle)",
    "plans": '[csm.explain(G, triangle), "(a)"]',
    "print": "print(csm.explain(G, triangle))",
    "pattern": "triangle",
    "large pattern": "csm.Pattern.clique(12)",
    "graph": """
people = pd.DataFrame({"vertex": ["Ana", "Ben"], "label": ["<Person>", None]})
rows = pd.DataFrame({"src": ["Ana"] * 4, "dst": ["Ben", "Ana", "Ben", "Ben"], "kind": "pays"})
csm.Graph.from_edgelist(rows, directed=True, edge_label="kind", vertices=people, vertex_label="label")
""",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    folder = tmp_path_factory.mktemp("notebook")
    execute(nbformat.v4.new_notebook(cells=cells), folder, folder)
    return {name: outputs_of(cell) for name, cell in zip(CELLS, cells, strict=True)}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("cell", "said"), [("count", "counting: done, "), ("rows", "matching: done, "), ("first batch", "matching: ")]
)
def test_progress_is_one_line_under_the_cell_and_no_warning(outputs, cell, said):
    line, value = outputs[cell]
    assert (line.output_type, value.output_type) == ("display_data", "execute_result")
    text = line.data["text/plain"]
    assert text.startswith(said)
    assert f"{int(value.data['text/plain']):,} matches" in text
    assert line.data["text/html"] == f"<div>{text}</div>"


@pytest.mark.thorough
def test_progress_says_where_a_time_limit_stopped_the_work(outputs):
    line, printed = outputs["time limit"]
    assert line.data["text/plain"].startswith("counting: stopped at ")
    assert printed.text == "too long\n"


def test_a_progress_line_is_updated_in_place_and_ends_without_its_bar(monkeypatch):
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append((data["text/html"], data["text/plain"]))

    def display(data, **options):
        Handle().update(data, options["raw"])
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(notebook, "SECONDS_BETWEEN_UPDATES", 0)
    line = notebook.ProgressLine()
    line.begin("counting <b>")
    line.update(0.25, 1_000, 2_000.0)
    line.update(1.0, 1, 1.0)
    line.end(stopped=False)
    bars, texts = zip(*((re.findall("<progress.*?>", markup), text) for markup, text in shown), strict=True)
    assert bars == (["<progress>"], ['<progress value="0.250">'], ['<progress value="1.000">'], [])
    assert texts[1] == "counting <b>: 25%, 1,000 matches, 2e+03 a second, 0:00:00, 0:00:00 left"
    assert texts[3] == "counting <b>: done, 1 match, 0.0 s"
    assert "counting &lt;b&gt;" in shown[0][0]


def test_a_progress_line_is_not_updated_more_often_than_can_be_seen(monkeypatch):
    shown = []
    line = notebook.ProgressLine()
    monkeypatch.setattr(line, "_show", lambda text, bar: shown.append(text))
    line._shown = time.monotonic()
    for step in range(1000):
        line.update(step / 1000, step, 1.0)
    assert len(shown) < 100


def shown(outputs, cell):
    """The text and the HTML of a cell's value."""
    (value,) = outputs[cell]
    return value.data["text/plain"], value.data.get("text/html")


@pytest.mark.thorough
def test_a_plan_shows_what_printing_it_shows(outputs):
    text, markup = shown(outputs, "plan")
    assert text + "\n" == outputs["print"][0].text
    assert markup == f"<pre>{html.escape(text)}</pre>"


@pytest.mark.thorough
def test_a_plan_within_a_list_keeps_the_lists_indentation(outputs):
    plan, listed = shown(outputs, "plan")[0], shown(outputs, "plans")[0]
    assert listed == "[" + plan.replace("\n", "\n ") + ",\n '(a)']"


@pytest.mark.thorough
def test_a_pattern_shows_its_text_broken_into_lines(outputs):
    assert shown(outputs, "pattern") == (
        "Pattern((a)--(b), (b)--(c), (a)--(c))",
        "<code>Pattern((a)--(b), (b)--(c), (a)--(c))</code>",
    )
    text, markup = shown(outputs, "large pattern")
    assert " ".join(text.split()) == repr(csm.Pattern.clique(12))
    assert max(map(len, text.splitlines())) < 80
    assert markup == f"<code>{csm.Pattern.clique(12)!r}</code>"


@pytest.mark.thorough
def test_a_graph_shows_a_small_table(outputs):
    text, markup = shown(outputs, "graph")
    assert text == "Graph(2 vertices, 1 directed edges)"
    assert re.findall("<th>(.*?)</th><td>(.*?)</td>", markup) == [
        ("vertices", "2"),
        ("edges", "1 directed"),
        ("vertex labels", "&lt;Person&gt;"),
        ("edge labels", "pays"),
        ("dropped self loops", "1"),
        ("dropped repeats", "2"),
    ]


def test_a_graph_names_its_first_labels_and_counts_the_others():
    edges = pd.DataFrame({"src": range(30), "dst": range(1, 31), "kind": [f"kind {i}" for i in range(30)]})
    markup = csm.Graph.from_edgelist(edges, edge_label="kind")._repr_html_()
    assert "kind 8, kind 9, 20 more" in markup
    assert "kind 10" not in markup


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_runs_without_a_warning(path, tmp_path):
    kept = nbformat.read(path, as_version=4)
    cells = [cell for cell in kept.cells if cell.cell_type == "code"]
    if path != RAPIDS:  # which keeps those of a machine with GPUs
        assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    execute(kept, path.parent, tmp_path)
    outputs = [output for cell in cells for output in outputs_of(cell)]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    data = [output.data for output in outputs if "data" in output]
    assert sum("image/png" in one for one in data) == FIGURES[path.stem]
    text = " ".join([*(one["text/plain"] for one in data), *(o.text for o in outputs if "text" in o)])
    text = " ".join(text.split())
    assert [said for said in SAID[path.stem] if said not in text] == []
