"""What the command line shows: progress, tables, facts of a graph, and errors on one line in its own words.

Rich draws on the terminal; into a pipe go the same tables without limits of width. Rich and NumPy are imported when
they are needed.
"""

from __future__ import annotations

import contextlib
import re
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from cusubmatch.graph import Graph

__all__ = ["Progress", "one_line", "one_line_errors", "print_facts", "print_matches"]

PIPE_WIDTH = 100_000  # characters: what leaves through a pipe is never cut
MOST_LABELS = 20

# Arguments of the Python functions that the command line spells differently.
OPTIONS = "source destination directed edge_label vertices vertex vertex_label semantics unique distinct engine"
LIMITS = "time_limit limit rows_per_file"
WORDS = {name: f"--{name.replace('_', '-')}" for name in f"{OPTIONS} {LIMITS}".split()}
WORDS |= {"edges": "EDGES", "pattern": "PATTERN", "path": "--output"}


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn the errors and warnings that a user can cause into one line on stderr each, and errors into an exit code.

    The code is 2 for bad input and 1 for work that could not be finished.
    """
    from cusubmatch import EngineUnavailable, ResultTooLarge, TimeLimitExceeded

    try:
        with _one_line_warnings():
            yield
    except BrokenPipeError:
        raise
    except TimeLimitExceeded as error:
        unit = "match" if error.partial == 1 else "matches"
        counted = f"; {error.partial:,} {unit} until then" if isinstance(error.partial, int) else ""
        _exit(str(error).partition("; .partial")[0] + counted, 1)
    except (EngineUnavailable, ResultTooLarge, MemoryError) as error:
        _exit(str(error) or "out of memory", 1)
    except OSError as error:
        _exit(re.sub(r"^\[Errno \d+\] ", "", str(error)) or type(error).__name__, 1)
    except (ValueError, TypeError) as error:
        _exit(str(error) or type(error).__name__, 2)


@contextlib.contextmanager
def _one_line_warnings():
    """Print a warning of labels once, wherever it comes from."""
    from cusubmatch import AbsentLabelWarning

    said = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", AbsentLabelWarning)
        others = warnings.showwarning

        def show(message, category, *where, **more):
            if category is not AbsentLabelWarning:
                others(message, category, *where, **more)
            elif str(message) not in said:
                said.add(str(message))
                typer.echo(f"cusubmatch: {one_line(str(message))}", err=True)

        warnings.showwarning = show
        yield


def _exit(message, code):
    text = one_line(message)
    typer.echo(f"cusubmatch: {text}", err=True)
    raise typer.Exit(code)


def one_line(text: str) -> str:
    """The message on one line, naming options instead of arguments; a caret under a line becomes a mark within it."""
    lines = text.splitlines()
    for i in range(2, len(lines)):
        if lines[i].strip() == "^":
            place = len(lines[i]) - 1
            marked = f"{lines[i - 1][:place]} >>HERE>> {lines[i - 1][place:]}".strip()
            lines[i - 1 : i + 1] = [marked, ""]
    text = " ".join(" ".join(lines).split())
    names = "|".join(WORDS)
    text = re.sub(rf"^((?:{names})(?:, (?:{names}))*): ", lambda m: _spoken(m[1]) + ": ", text)
    return re.sub(rf"\b({names})=(['\"]?)([^\s'\",;.)]*)\2", lambda m: f"{WORDS[m[1]]} {m[3]}".strip(), text)


def _spoken(names):
    return ", ".join(WORDS[name] for name in names.split(", "))


class Progress:
    """A transient line on stderr: what is being done, how much of it, the matches so far, their rate and the time."""

    def __init__(self, wanted: bool | None):
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._bar: Any = None  # rich.progress.Progress
        self._task: Any = None
        self._begun = 0.0

    def __enter__(self):
        if self._wanted:
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.TaskProgressColumn(),
                progress.TextColumn("{task.fields[matches]}"),
                progress.TimeElapsedColumn(),
                progress.TextColumn("left"),
                progress.TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(self, *exception):
        if self._bar is not None:
            self._bar.stop()

    def start(self, what: str) -> Callable[[float, int], None] | None:
        """Begin a part of the work; returns a callable for (fraction_done, matches), None where nothing is shown."""
        if self._bar is None:
            return None
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task, self._begun = self._bar.add_task(what, total=None, matches=""), time.monotonic()
        return self._update

    def _update(self, fraction_done: float, matches: int):
        rate = matches / max(time.monotonic() - self._begun, 1e-3)
        text = f"{matches:,} matches, {rate:,.3g} a second"
        self._bar.update(self._task, total=1.0, completed=fraction_done, matches=text)


def print_matches(table: pa.Table, total: int, note: str = "") -> None:
    """Print an Arrow table of matches, and how many of the total it shows."""
    from rich.table import Table

    drawn = Table()
    for name in table.column_names:
        drawn.add_column(_plain(name), no_wrap=True)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        drawn.add_row(*map(_plain, row))
    _console().print(drawn)
    first = "" if table.num_rows == total else f"first {table.num_rows:,} of "
    typer.echo(f"{first}{total:,} {'match' if total == 1 else 'matches'}{note}")


def print_facts(graph: Graph) -> None:
    """Print vertices, edges, degrees, labels and dropped rows of a graph."""
    for name, value in _facts(graph):
        typer.echo(f"{name:<20}{value}")


def _facts(graph):
    import numpy as np

    from cusubmatch.graph import Relation

    facts = [
        ("vertices", f"{graph.n_vertices:,}"),
        ("edges", f"{graph.n_edges:,} {'' if graph.directed else 'un'}directed"),
    ]
    for name, direction in [("out-degree", "out"), ("in-degree", "in")] if graph.directed else [("degree", "any")]:
        degree = np.diff(graph.adjacency((Relation(direction),)).offsets[0])
        if len(degree):
            facts.append((name, f"mean {degree.mean():.2f}, median {np.median(degree):g}, greatest {degree.max():,}"))
    if graph.vertex_labels is not None:
        sizes = np.bincount(graph.vertex_labels + 1, minlength=len(graph.vertex_label_values) + 1)
        facts.append(("vertex labels", _labels(graph.vertex_label_values, sizes[1:], sizes[0])))
    if graph.edge_label_values is not None:
        facts.append(("edge labels", ", ".join(map(str, graph.edge_label_values)) or "none"))
    facts.append(("dropped self loops", f"{graph.dropped_self_loops:,}"))
    facts.append(("dropped repeats", f"{graph.dropped_repeats:,}"))
    return facts


def _labels(values, sizes, without):
    largest = sorted(zip(sizes.tolist(), map(str, values), strict=True), key=lambda entry: (-entry[0], entry[1]))
    parts = [f"{value}: {size:,}" for size, value in largest[:MOST_LABELS]]
    if len(largest) > MOST_LABELS:
        parts.append(f"{len(largest) - MOST_LABELS} more")
    if without:
        parts.append(f"(without: {without:,})")
    return ", ".join(parts) or "none"


def _console():
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)


def _plain(value):
    from rich.text import Text

    return Text("" if value is None else str(value))
