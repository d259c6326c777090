"""Where the rows of `match` go: to a file, to stdout as they are found, or the first of them to a table."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from cusubmatch.cli.arguments import Printed
from cusubmatch.cli.results import print_matches, write_rows
from cusubmatch.io.formats import format_of
from cusubmatch.io.targets import check_target

if TYPE_CHECKING:
    import pyarrow as pa

    from cusubmatch.display.progress import Progress
    from cusubmatch.graph import Graph
    from cusubmatch.pattern import Pattern

__all__ = ["STDOUT", "check_columns", "checked_output", "count_groups", "first_matches", "print_groups", "print_rows"]

STDOUT = "-"
FIRST_ROWS = 20  # matches that are shown where no output is named
PRINT_BATCH_ROWS = 1 << 16


def check_columns(query: Pattern) -> None:
    """Refuse a pattern whose matches have no column."""
    if not query.columns:
        raise ValueError("pattern: it names no vertex, so a match has no column; write (a) instead of (), or use count")


def checked_output(
    output: str | None, form: Printed | None, rows_per_file: int | None, sort: bool
) -> tuple[Printed | None, str | None]:
    """The format and the output, from what was asked for; the output is None for a table for a reader."""
    if output is not None and output != STDOUT:
        check_target(output, rows_per_file)
        if form is not None and form != format_of(output):
            raise ValueError(f"format: the suffix of path={output} says it; {form} goes to stdout, as path=-")
        return form, output
    if rows_per_file is not None:
        raise ValueError("rows_per_file: parts are of a folder of files; name it, too, by path=")
    form = form or (Printed.TABLE if output is None else Printed.CSV)
    if sort and form == Printed.TABLE:
        raise ValueError("sort: rows are sorted for a file or format=csv; name one, too; a file by path=")
    return form, None if form == Printed.TABLE else STDOUT


def print_rows(graph: Graph, query: Pattern, form: str | None, **options: Any) -> int:
    """Write all matches to stdout; returns the number of rows."""
    import cusubmatch as csm

    with contextlib.closing(csm.iter_matches(graph, query, batch_rows=PRINT_BATCH_ROWS, **options)) as batches:
        asked = {name: options[name] for name in ("params", "edges", "edge_id") if name in options}
        return write_rows(batches, csm.subgraph_match(graph, query, limit=0, **asked).schema, form)


def first_matches(
    graph: Graph, query: Pattern, limit: int | None, how: dict[str, Any], line: Progress
) -> tuple[pa.Table, int]:
    """The first rows as an Arrow table, and how many matches there are (at most `limit`)."""
    import cusubmatch as csm

    wanted = FIRST_ROWS + 1 if limit is None else min(limit, FIRST_ROWS + 1)
    table = csm.subgraph_match(graph, query, limit=wanted, **how)
    if table.num_rows <= FIRST_ROWS:
        return table, table.num_rows
    counted = {name: value for name, value in how.items() if name != "edge_id"}
    total = csm.count_matches(graph, query, progress=line.start("counting"), **counted)
    return table.slice(0, FIRST_ROWS), total if limit is None else min(limit, total)


def count_groups(graph: Graph, query: Pattern, by: str, min_count: int, how: dict[str, Any]) -> pa.Table:
    """The matches by the images of some vertices, the largest counts first."""
    import cusubmatch as csm

    names = [name.strip() for name in by.split(",")]
    table = csm.count_by(graph, query, names, min_count=min_count, **how)
    return table.sort_by([("count", "descending"), *((name, "ascending") for name in names)])


def print_groups(table: pa.Table, form: str) -> None:
    """Print bindings and their counts: the first of them as a table for a reader, or all."""
    if form == Printed.TABLE:
        print_matches(table.slice(0, FIRST_ROWS), table.num_rows, noun=("binding", "bindings"))
    else:
        write_rows([table], table.schema, form)
