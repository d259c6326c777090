"""The command line: `cusubmatch count|match|explain|info|batch|warm-up`, files in, a number, a table or a file out.

It says what the Python functions say, in the same words. Results go to stdout, messages to stderr; bad input ends with
one line and exit code 2, work that could not be finished (time limit, memory, full disk, missing engine) with one line
and exit code 1. An output appears under its name only when it is complete; SIGTERM, as Ctrl-C, leaves nothing of it
behind. Heavy modules are imported inside the commands, so that `--help` is immediate.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cusubmatch.cli.arguments import (
    By,
    Candidates,
    Destination,
    Devices,
    Directed,
    Distinct,
    EachEdge,
    EdgeLabel,
    Edges,
    EngineChoice,
    HowToMatch,
    InputFormat,
    JobOutput,
    Limit,
    MinCount,
    Output,
    Params,
    PatternText,
    PrintAs,
    Printed,
    PrintedPlan,
    PrintRowsAs,
    Queries,
    Resume,
    RowsPerFile,
    Scheduler,
    Semantics,
    ShowProgress,
    Sort,
    Source,
    Time,
    TimeLimit,
    Touching,
    Unique,
    Version,
    Vertex,
    VertexLabel,
    Vertices,
    WarmArchitectures,
    WarmCpu,
    Where,
    WhichEngine,
    WhichIds,
    WorkerCount,
    WriteMatches,
    device_argument,
)
from cusubmatch.cli.batch import answer_queries, cluster_client, cluster_graph, read_queries
from cusubmatch.cli.condition_options import condition_arguments
from cusubmatch.cli.inputs import GraphFiles, read_graph, read_pattern
from cusubmatch.cli.results import print_batch, print_count, print_facts, print_matches, print_plan
from cusubmatch.cli.rows import (
    STDOUT,
    check_columns,
    checked_output,
    count_groups,
    first_matches,
    print_groups,
    print_rows,
)
from cusubmatch.cli.signals import ended_by_signals
from cusubmatch.cli.terminal import OneLineGroup, one_line_errors
from cusubmatch.cli.warm_up import capabilities_of, compile_by_calls, compile_for_gpus
from cusubmatch.display.progress import Progress
from cusubmatch.system.gpu_presence import missing_for_gpu

if TYPE_CHECKING:
    from cusubmatch.pattern import Pattern

__all__ = ["app", "main"]

EPILOG = """\b
Examples:
  cusubmatch count friends.parquet clique:4
  cusubmatch count payments.csv "(a)-->(m)-->(b)" --by a,b --min-count 4
  cusubmatch match payments.csv "(a)-->(b)-->(c)-->(a)" --source payer --destination payee -o rings.parquet
  cusubmatch explain payments.csv cycle:5:directed
  cusubmatch info payments.csv --directed --format json
  cusubmatch batch friends.parquet queries.csv -o answers --workers 4
  cusubmatch warm-up --arch sm_90
  zcat payments.csv.gz | cusubmatch match - cycle:4 -o - | head
\b
PATTERN is text such as "(a:Account)-[:PAYS]->(b), (b)--(c)" or a generator: clique:4, cycle:5, path:3, star:6;
cycle, path and star take :directed. `cusubmatch COMMAND --help` lists the options.
"""


app = typer.Typer(
    cls=OneLineGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


@app.callback(invoke_without_command=True)
def _start(context: typer.Context, _version: Version = False) -> None:
    """Find every copy of a small pattern in a large graph, given as a table of edges."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(
    epilog='\b\nExample:\n  cusubmatch count payments.csv "(a)-->(b)-->(c)-->(a)" --source payer --destination payee'
)
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
            graph = read_graph(files, _direction(directed, query), line)
            import cusubmatch as csm

            how = _how(semantics, unique, engine, devices) | condition_arguments(
                graph, param, candidates, touching, each_edge
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


@app.command(
    epilog='\b\nExample:\n  cusubmatch match friends.parquet "(me)--(friend)--(other)" --limit 1000 -o chains.csv'
)
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
        how = _how(semantics, unique, engine, devices) | {"time_limit": time_limit}
        with Progress(progress) as line:
            graph = read_graph(files, _direction(directed, query), line)
            import cusubmatch as csm

            how |= condition_arguments(graph, param, candidates, touching, each_edge)

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


@app.command(epilog='\b\nExample:\n  cusubmatch explain payments.csv "(a)-->(b)-->(c)-->(a)" --semantics induced')
def explain(
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
    each_edge: EachEdge = False,
    time: Time = None,
    engine: WhichEngine = EngineChoice.AUTO,
    devices: Devices = None,
    rows: Annotated[bool, typer.Option("--rows", help="The plan of match rather than that of count.")] = False,
    form: Annotated[PrintedPlan, typer.Option("--format", help="Of what is printed.")] = PrintedPlan.TABLE,
) -> None:
    """Print the plan of the search, and which engine would run it."""
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format, time)
    with one_line_errors():
        query = read_pattern(pattern, distinct, where)
        graph = read_graph(files, _direction(directed, query))
        import cusubmatch as csm

        asked = condition_arguments(graph, param, candidates, None, each_edge)
        how = _how(semantics, unique, engine, devices) | {
            name: asked[name] for name in ("params", "candidates", "edges")
        }
        print_plan(csm.explain(graph, query, **how, counting=not rows), form)


@app.command(
    epilog="\b\nExample:\n  cusubmatch info payments.csv --directed --vertices accounts.csv --vertex-label kind"
)
def info(
    edges: Edges,
    source: Source = None,
    destination: Destination = None,
    directed: Annotated[bool, typer.Option("--directed/--undirected")] = False,
    edge_label: EdgeLabel = None,
    vertices: Vertices = None,
    vertex: Vertex = "vertex",
    vertex_label: VertexLabel = None,
    ids: WhichIds = None,
    input_format: InputFormat = None,
    form: PrintAs = Printed.TABLE,
) -> None:
    """Print size, degrees, labels and dropped rows of a graph."""
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format)
    with one_line_errors():
        graph = read_graph(files, directed)
        print_facts(graph, form)


@app.command(
    epilog="\b\nExample:\n  cusubmatch batch friends.parquet queries.csv -o answers --workers 4 --time-limit 60"
)
def batch(
    edges: Edges,
    queries: Queries,
    output: JobOutput,
    matches: WriteMatches = False,
    scheduler: Scheduler = None,
    workers: WorkerCount = None,
    resume: Resume = False,
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
    engine: WhichEngine = EngineChoice.AUTO,
    limit: Limit = None,
    time_limit: TimeLimit = None,
    progress: ShowProgress = None,
) -> None:
    """Count the matches of every query of a file, or write them with --matches, on a Dask cluster.

    The folder gets results.parquet, one row a query. The exit code is 1 if a query could not be finished.
    """
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format)
    with one_line_errors():
        asked = read_queries(queries)
        if limit is not None and not matches:
            raise ValueError("limit: counts have none; say matches=, too")
        patterns = [pattern for _, pattern in asked if not isinstance(pattern, str)]
        if directed is None:
            directed = any(pattern.directed for pattern in patterns)
        with Progress(progress) as line, cluster_client(scheduler, workers, engine.value) as client:
            line.start("building the graph")
            graph = cluster_graph(files, directed, client)
            how = _how(semantics, unique, engine) | {"time_limit": time_limit, "resume": resume, "client": client}
            table = answer_queries(graph, asked, output, limit, matches, line.start("queries"), how)
        if print_batch(table, output):
            raise typer.Exit(1)


@app.command("warm-up", epilog="\b\nExample:\n  cusubmatch warm-up --arch sm_80 --arch sm_90")
def warm_up(arch: WarmArchitectures = None, cpu: WarmCpu = True, progress: ShowProgress = None) -> None:
    """Compile everything now, so that no later process has to; for a GPU that need not be here, as in an image."""
    with one_line_errors():
        capabilities = capabilities_of(arch)
        with Progress(progress) as line:
            if capabilities:
                names = ", ".join(f"sm_{major}{minor}" for major, minor in capabilities)
                kernels = compile_for_gpus(capabilities, line.start(f"compiling for {names}", "kernels"))
                typer.echo(f"{kernels} kernels compiled for {names}")
                if not arch and missing_for_gpu() is None:
                    compile_by_calls("gpu", line.start("trying the GPU", "parts"))
            if cpu:
                parts = compile_by_calls("cpu", line.start("compiling for the CPU", "parts"))
                typer.echo(f"{parts} parts of the CPU engine compiled")


def _how(semantics: Semantics, unique: bool | None, engine: EngineChoice, devices: str | None = None) -> dict[str, Any]:
    """What a match is and where it is searched, as arguments of the Python functions."""
    where = {} if devices is None else {"devices": device_argument(devices)}
    return {"semantics": semantics.value, "unique": unique, "engine": engine.value} | where


def _direction(directed: bool | None, query: Pattern) -> bool:
    """Whether the edges of the files are directed: as asked for, or as the pattern's."""
    return query.directed if directed is None else directed


def main() -> None:
    """Run the command line; the entry point of the `cusubmatch` script."""
    with ended_by_signals():
        app()
