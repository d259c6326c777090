"""The commands `count` and `match`: how many matches there are, and the matches."""

from __future__ import annotations

import sys
from typing import Any

import typer

from cusubmatch.cli.arguments import (
    By,
    Candidates,
    Destination,
    Devices,
    Directed,
    Distinct,
    EachEdge,
    EdgeId,
    EdgeLabel,
    Edges,
    EngineChoice,
    HowToMatch,
    InputFormat,
    Limit,
    MinCount,
    Output,
    Params,
    PatternText,
    PrintAs,
    Printed,
    PrintRowsAs,
    RowsPerFile,
    Semantics,
    ShowProgress,
    Sort,
    Source,
    Time,
    TimeLimit,
    Touching,
    Unique,
    Vertex,
    VertexLabel,
    Vertices,
    Where,
    WhichEngine,
    WhichIds,
)
from cusubmatch.cli.commands.common import direction_of, how_to_match, kind_of_ids
from cusubmatch.cli.condition_options import condition_arguments
from cusubmatch.cli.inputs import GraphFiles, read_graph, read_pattern
from cusubmatch.cli.results import print_count, print_matches
from cusubmatch.cli.rows import (
    STDOUT,
    check_columns,
    checked_output,
    count_groups,
    first_matches,
    print_groups,
    print_rows,
)
from cusubmatch.cli.terminal import one_line_errors
from cusubmatch.display.progress import Progress

__all__ = ["count", "match"]


def count(
    edges: Edges,
    pattern: PatternText,
    source: Source = None,
    destination: Destination = None,
    directed: Directed = None,
    edge_label: EdgeLabel = None,
    vertices: Vertices = None,
    vertex: Vertex = "vertex",
    vertex_label: VertexLabel = None,
    ids: WhichIds = None,
    input_format: InputFormat = None,
    semantics: HowToMatch = Semantics.MONOMORPHISM,
    unique: Unique = None,
    distinct: Distinct = None,
    where: Where = None,
    param: Params = None,
    candidates: Candidates = None,
    touching: Touching = None,
    each_edge: EachEdge = False,
    time: Time = None,
    by: By = None,
    min_count: MinCount = 1,
    engine: WhichEngine = EngineChoice.AUTO,
    devices: Devices = None,
    time_limit: TimeLimit = None,
    form: PrintAs = Printed.TABLE,
    progress: ShowProgress = None,
) -> None:
    """Print how many matches there are, as one integer; with --by as a table of bindings."""
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format, time)
    with one_line_errors():
        query = read_pattern(pattern, distinct, where)
        with Progress(progress) as line:
            graph = read_graph(files, direction_of(directed, query), line)
            import cusubmatch as csm

            how = how_to_match(semantics, unique, engine, devices) | condition_arguments(
                kind_of_ids(graph), param, candidates, touching, each_edge
            )
            how |= {"time_limit": time_limit, "progress": line.start("counting")}
            if by is not None:
                table = count_groups(graph, query, by, min_count, how)
            elif min_count > 1:
                raise ValueError("min_count: it is of bindings; say by=, too")
            else:
                total = csm.count_matches(graph, query, **how)
        if by is None:
            print_count(total, form)
        else:
            print_groups(table, form)


def match(
    edges: Edges,
    pattern: PatternText,
    output: Output = None,
    form: PrintRowsAs = None,
    source: Source = None,
    destination: Destination = None,
    directed: Directed = None,
    edge_label: EdgeLabel = None,
    vertices: Vertices = None,
    vertex: Vertex = "vertex",
    vertex_label: VertexLabel = None,
    ids: WhichIds = None,
    input_format: InputFormat = None,
    semantics: HowToMatch = Semantics.MONOMORPHISM,
    unique: Unique = None,
    distinct: Distinct = None,
    where: Where = None,
    param: Params = None,
    candidates: Candidates = None,
    touching: Touching = None,
    each_edge: EachEdge = False,
    edge_id: EdgeId = None,
    time: Time = None,
    engine: WhichEngine = EngineChoice.AUTO,
    devices: Devices = None,
    limit: Limit = None,
    time_limit: TimeLimit = None,
    rows_per_file: RowsPerFile = None,
    sort: Sort = False,
    progress: ShowProgress = None,
) -> None:
    """Write the matches, one row each, one column a named vertex, to a file or stdout.

    Without --output and --format: a table of the first 20 rows, and the total.
    """
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format, time)
    with one_line_errors():
        query = read_pattern(pattern, distinct, where)
        check_columns(query)
        form, output = checked_output(output, form, rows_per_file, sort)
        if output == STDOUT and progress is None and sys.stdout.isatty():
            progress = False
        how = how_to_match(semantics, unique, engine, devices) | {"time_limit": time_limit}
        with Progress(progress) as line:
            graph = read_graph(files, direction_of(directed, query), line)
            import cusubmatch as csm

            how |= condition_arguments(kind_of_ids(graph), param, candidates, touching, each_edge)
            how |= {"edge_id": edge_id}
            if output is None:
                table, rows = first_matches(graph, query, limit, how, line)
            elif output == STDOUT:
                rows = print_rows(graph, query, form, limit=limit, sort=sort, progress=line.start("matching"), **how)
            else:
                options: dict[str, Any] = {"limit": limit, "rows_per_file": rows_per_file, "sort": sort}
                rows = csm.write_matches(graph, query, output, progress=line.start("matching"), **options, **how)
        note = " (--limit reached: there may be more)" if limit is not None and rows == limit else ""
        if output is None:
            print_matches(table, rows, note)
        else:
            where = "stdout" if output == STDOUT else output
            typer.echo(f"{rows:,} {'match' if rows == 1 else 'matches'} written to {where}{note}", err=True)
