"""What the command line prints: counts, matches, plans and facts of a graph, as a table for readers, as JSON or as CSV.

JSON is one document, of matches one object a line. CSV is what `write_matches` writes. Both are UTF-8 whatever the
locale says. Nothing else goes to stdout. Rich, NumPy and Arrow are imported when they are needed.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

import typer

from cusubmatch.errors import TimeLimitExceeded

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.text import Text

    from cusubmatch.graph import Graph
    from cusubmatch.plan import Plan
    from cusubmatch.plan.explain.describe_parts import SeveralCallsText
    from cusubmatch.plan.explain.describe_rows import RowPlanText

__all__ = ["print_batch", "print_count", "print_facts", "print_matches", "print_plan", "write_rows"]

PIPE_WIDTH = 100_000  # characters: what leaves through a pipe is never cut
MAX_LABELS = 20  # that are listed


def print_count(total: int, form: str) -> None:
    """Print a count: a bare integer, ``{"count": 2}``, or a column of one row."""
    if form == "table":
        typer.echo(total)
    else:
        _print_record({"count": total}, form, [("count",), (total,)])


def print_batch(table: Any, folder: str) -> int:
    """Say on stderr what came of a query set; returns how many queries could not be finished."""
    statuses = table["status"].tolist()
    parts = [f"{statuses.count(status):,} {status}" for status in dict.fromkeys(statuses)]
    typer.echo(
        f"{len(statuses):,} {'query' if len(statuses) == 1 else 'queries'}: {', '.join(parts)}; in {folder}", err=True
    )
    return len(statuses) - statuses.count("done")


def print_matches(table: pa.Table, total: int, note: str = "", noun: tuple[str, str] = ("match", "matches")) -> None:
    """Print a table of matches for a reader, and how many of the total it shows."""
    from rich.table import Table

    drawn = Table()
    for name in table.column_names:
        drawn.add_column(_plain(name), no_wrap=True)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        drawn.add_row(*map(_plain, row))
    console = _console()
    with console.capture() as text:  # what Rich prints by itself does not tell of a closed pipe
        console.print(drawn)
    first = "" if table.num_rows == total else f"first {table.num_rows:,} of "
    lines = f"{text.get()}{first}{total:,} {noun[total != 1]}{note}\n"
    with _stdout() as stream:
        stream.write(lines.encode(sys.stdout.encoding or "utf-8", "replace"))


def write_rows(batches: Iterable[pa.Table], schema: pa.Schema, form: str | None) -> int:
    """Write tables of matches to stdout as CSV or as lines of JSON, each when it is found; returns the rows.

    `TimeLimitExceeded` comes after the rows until then, with their number.
    """
    from cusubmatch.io.publish import plain_schema, table_writer

    rows, plain = 0, plain_schema(schema)

    def write(batch: pa.Table) -> None:
        nonlocal rows
        writer.write_table(batch.cast(plain))
        stream.flush()
        rows += batch.num_rows

    with (
        _stdout() as stream,
        contextlib.closing(_JsonLines(stream) if form == "json" else table_writer(stream, plain, ".csv")) as writer,
    ):
        try:
            for batch in batches:
                write(batch)
        except TimeLimitExceeded as late:
            write(late.partial)
            raise TimeLimitExceeded(str(late), rows) from None
    return rows


def print_plan(plan: Plan | RowPlanText | SeveralCallsText, form: str) -> None:
    """Print a plan as text, or as a document with the text in it."""
    from cusubmatch.plan.explain.describe_parts import SeveralCallsText
    from cusubmatch.plan.explain.describe_rows import RowPlanText

    if form == "table":
        typer.echo(plan)
        return
    if isinstance(plan, (RowPlanText, SeveralCallsText)):
        way = "rows" if isinstance(plan, RowPlanText) else "several calls"
        record = {"pattern": str(plan.pattern), "way": way, "estimated_seconds": plan.cost / 1e9, "text": str(plan)}
        _print_record(record, form, [])
        return
    names = plan.pattern.names
    strategy = "supergraphs"
    if plan.in_parts is None or not plan.in_parts.first:
        strategy = "walk"
    elif plan.in_parts in (plan.conditioning, plan.tables):
        strategy = "tables" if plan.conditioning is None else "conditioning"
    order = [
        {
            "vertex": None if names[level.vertex] is None else str(names[level.vertex]),
            "candidates": candidates,
            "partial_matches": matches,
        }
        for level, candidates, matches in zip(plan.levels, plan.order.candidates, plan.order.matches, strict=True)
    ]
    record = {
        "pattern": repr(plan.pattern).removeprefix("Pattern(").removesuffix(")"),
        "semantics": plan.semantics,
        "unique": plan.unique,
        "engine": plan.engine,
        "why": plan.why,
        "way": strategy,
        "estimated_seconds": plan.count_cost / 1e9,
        "order": order,
        "text": str(plan),
    }
    _print_record(record, form, [])


def print_facts(graph: Graph, form: str) -> None:
    """Print vertices, edges, degrees, labels and dropped rows of a graph."""
    facts = _facts(graph)
    if form == "table":
        for name, value in _lines(facts):
            typer.echo(f"{name.replace('_degree', '-degree').replace('_', ' '):<20}{value}")
    else:
        _print_record(facts, form, [("fact", "value"), *_flat(facts)])


class _JsonLines:
    """A writer of tables like Arrow's for CSV: an object a row."""

    def __init__(self, stream: IO[bytes]):
        self._stream = stream

    def write_table(self, table: pa.Table) -> None:
        names, columns = table.column_names, (column.to_pylist() for column in table.columns)
        encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
        lines = (encode(dict(zip(names, row, strict=True))) + "\n" for row in zip(*columns, strict=True))
        self._stream.write("".join(lines).encode())

    def close(self) -> None:
        pass


def _print_record(record: Mapping[str, Any], form: str, rows: Iterable[tuple]) -> None:
    """Print a document of JSON, or rows of CSV."""
    if form == "json":
        text = json.dumps(record, ensure_ascii=False, indent=2, default=str) + "\n"
    else:
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows(rows)
        text = lines.getvalue()
    with _stdout() as stream:
        stream.write(text.encode())


def _facts(graph: Graph) -> dict[str, Any]:
    """What is known of a graph, as values of JSON."""
    import numpy as np

    from cusubmatch.graph import Relation

    facts: dict[str, Any] = {"vertices": graph.n_vertices, "edges": graph.n_edges, "directed": graph.directed}
    for name, direction in [("out_degree", "out"), ("in_degree", "in")] if graph.directed else [("degree", "any")]:
        degree = np.diff(graph.adjacency((Relation(direction),)).offsets[0])
        if len(degree):
            measures = {"mean": float(degree.mean()), "median": float(np.median(degree)), "greatest": int(degree.max())}
            facts[name] = measures
    if graph.vertex_labels is not None:
        names = list(map(str, graph.vertex_label_values or ()))
        sizes = np.bincount(graph.vertex_labels + 1, minlength=len(names) + 1).tolist()
        facts["vertex_labels"] = dict(zip(names, sizes[1:], strict=True))
        facts["vertices_without_label"] = sizes[0]
    if graph.edge_label_values is not None:
        facts["edge_labels"] = list(map(str, graph.edge_label_values))
    return facts | {"dropped_self_loops": graph.dropped_self_loops, "dropped_repeats": graph.dropped_repeats}


def _lines(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The facts as names and text for a reader."""
    for name, value in facts.items():
        if name == "edges":
            yield name, f"{value:,} {'' if facts['directed'] else 'un'}directed"
        elif name.endswith("degree"):
            yield name, f"mean {value['mean']:.2f}, median {value['median']:g}, greatest {value['greatest']:,}"
        elif name == "vertex_labels":
            yield name, _labels(value, facts["vertices_without_label"])
        elif name == "edge_labels":
            yield name, ", ".join(value) or "none"
        elif name not in ("directed", "vertices_without_label"):
            yield name, f"{value:,}"


def _flat(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The facts as rows of a name and a value."""
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from ((f"{name}: {key}", number) for key, number in value.items())
        elif isinstance(value, list):
            yield from ((name, item) for item in value)
        else:
            yield name, json.dumps(value)


def _labels(sizes: Mapping[str, int], without: int) -> str:
    largest = sorted(sizes.items(), key=lambda entry: (-entry[1], entry[0]))
    parts = [f"{value}: {size:,}" for value, size in largest[:MAX_LABELS]]
    if len(largest) > MAX_LABELS:
        parts.append(f"{len(largest) - MAX_LABELS} more")
    if without:
        parts.append(f"(without: {without:,})")
    return ", ".join(parts) or "none"


@contextlib.contextmanager
def _stdout() -> Iterator[IO[bytes]]:
    """Standard output for bytes; under PYTHONUNBUFFERED Python's own takes a part of what it is given."""
    sys.stdout.flush()
    stream = sys.stdout.buffer
    if not isinstance(stream, io.RawIOBase):
        yield stream
        stream.flush()
        return
    buffered = io.BufferedWriter(stream)
    try:
        yield buffered
        buffered.flush()
    finally:
        with contextlib.suppress(OSError):  # a closed pipe, of which the error above tells
            buffered.detach()


def _console() -> Console:
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)


def _plain(value: object) -> Text:
    from rich.text import Text

    return Text("" if value is None else str(value))
