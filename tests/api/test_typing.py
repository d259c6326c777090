"""What a type checker says of a user's script: nothing of a right one, and what is wrong of a wrong one."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import cusubmatch as csm

api = pytest.importorskip("mypy.api")

STUB = Path(csm.__file__).with_suffix(".pyi")

RIGHT = '''
from pathlib import Path
from typing import Any
import cusubmatch as csm

class Table:
    """A dataframe, as all libraries have it."""
    @property
    def columns(self) -> list[str]: return ["src", "dst"]
    @property
    def shape(self) -> tuple[int, int]: return 0, 2
    def equals(self, other: object) -> bool: return False

edges = Table()
graph = csm.Graph.from_edgelist(edges, directed=True)
pattern = csm.Pattern.parse("(a)-->(b)-->(c)")
count: int = csm.count_matches(graph, pattern, semantics="induced", engine="cpu", time_limit=5, progress=True)
matches: Table = csm.subgraph_match(edges, pattern, limit=3)
anything: Any = csm.subgraph_match(graph, "(a)--(b)")
sample: Table = csm.sample_matches(edges, pattern, 3, seed=1)[0]
batches: list[Table] = [batch for batch in csm.iter_matches(edges, "(a)--(b)", batch_rows=2)]
attached: Table = csm.attach_edges(matches, pattern, edges)
some: list[Table] = list(csm.iter_attached_edges(matches, pattern, edges, batch_rows=2))
tables: list[Table] = [csm.count_many(edges, {"a": pattern, "b": "(x)"}), csm.motif_census(edges, 4)]
tables += [csm.count_by(edges, pattern, ["a", "c"], min_count=2)]
tables += [csm.vertex_counts(edges, pattern), csm.subgraph_monomorphism(edges, graph)]
found: bool = csm.has_match(graph, pattern)
print(csm.explain(graph, pattern), csm.datasets.amlsim(), csm.generators.rmat(3), csm.__version__)
try:
    rows: int = csm.write_matches(graph, pattern, Path("matches.parquet"))
except (csm.TimeLimitExceeded, csm.ResultTooLarge, csm.GraphError, csm.PatternError, csm.EngineUnavailable) as late:
    print(late)
'''

WRONG = {
    "csm.count_match(EDGES, TEXT)": 'no attribute "count_match"',
    'csm.count_matches(EDGES, TEXT, semantic="induced")': 'did you mean "semantics"',
    'csm.count_matches(EDGES, TEXT, semantics="iso")': 'Argument "semantics" to "count_matches"',
    "csm.count_matches(EDGES, 5)": 'Argument 2 to "count_matches" has incompatible type "int"',
    'csm.count_matches(EDGES, TEXT, engine="tpu")': 'Argument "engine" to "count_matches"',
    'csm.iter_matches(EDGES, TEXT, batch_rows="2")': 'No overload variant of "iter_matches"',
    "csm.sample_matches(EDGES, TEXT)": 'No overload variant of "sample_matches"',
    "csm.write_matches(EDGES, TEXT, 5)": 'Argument 3 to "write_matches"',
    "text: str = csm.count_matches(EDGES, TEXT)": 'expression has type "int"',
    "csm.Graph.from_edgelist(EDGES, direct=True)": 'did you mean "directed"',
}


@pytest.mark.thorough
def test_mypy_finds_what_is_wrong_with_a_script_and_nothing_else(tmp_path, monkeypatch):
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    head = ["from typing import Any", "import cusubmatch as csm", "EDGES: Any = None", 'TEXT = "(a)--(b)"']
    wrong.write_text("\n".join([*head, *WRONG]))
    packages = tmp_path / "packages"  # mypy refuses site-packages, where the package may be installed, as a path
    packages.mkdir()
    (packages / "cusubmatch").symlink_to(STUB.parent)
    monkeypatch.setenv("MYPYPATH", str(packages))
    options = [
        "--strict",
        "--follow-imports=silent",
        "--no-site-packages",
        "--config-file=",
        f"--cache-dir={tmp_path}",
        "--no-error-summary",
    ]
    output, errors, _ = api.run([*options, str(right), str(wrong)])
    assert errors == ""
    told = {int(line): text for line, text in re.findall(r"wrong\.py:(\d+): error: (.*)", output)}
    assert "right.py" not in output
    assert sorted(told) == [len(head) + 1 + place for place in range(len(WRONG))]
    for place, message in enumerate(WRONG.values()):
        assert message in told[len(head) + 1 + place]


STUBBED = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.FunctionDef)]


def imported_names():
    imports = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {alias.asname for node in imports for alias in node.names if alias.asname}


def test_the_stubs_have_all_public_names_and_no_others():
    assert imported_names() | {node.name for node in STUBBED} | {"__version__"} == set(csm.__all__)


@pytest.mark.parametrize("stub", STUBBED, ids=lambda node: node.name)
def test_the_stubs_have_the_arguments_of_the_functions(stub):
    parameters = inspect.signature(getattr(csm, stub.name)).parameters.values()
    plain = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    optional = [p.name for p in parameters if p.default is not p.empty]
    assert [a.arg for a in stub.args.args] == plain
    assert [a.arg for a in stub.args.kwonlyargs] == named
    assert len(stub.args.defaults) + sum(default is not None for default in stub.args.kw_defaults) == len(optional)
    written = {a.arg: ast.unparse(a.annotation) for a in (*stub.args.args, *stub.args.kwonlyargs) if a.arg != "G"}
    assert written == {p.name: str(p.annotation) for p in parameters if p.name != "G"}
