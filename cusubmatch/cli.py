"""The command line: `cusubmatch count|match|explain|info`, files in, a number, a table or a file out.

It says what the Python functions say, in the same words. Results go to stdout, messages to stderr; bad input ends with
one line and exit code 2, work that could not be finished (time limit, memory, full disk, missing engine) with one line
and exit code 1. An output appears under its name only when it is complete. Heavy modules are imported inside the
commands, so that `--help` is immediate.
"""

from __future__ import annotations

import contextlib
import sys
from enum import StrEnum
from typing import Annotated

import typer
import typer.core

from cusubmatch import __version__
from cusubmatch.files import GraphFiles, read_graph, read_pattern
from cusubmatch.formats import format_of
from cusubmatch.output import check_target
from cusubmatch.results import print_count, print_facts, print_matches, print_plan, write_rows
from cusubmatch.terminal import Progress, one_line, one_line_errors

__all__ = ["app", "main"]

STDOUT = "-"
FIRST_ROWS = 20  # of the matches, where no output is named
ROWS_AT_ONCE = 1 << 16  # that are printed

# "No such option", "missing argument", "invalid value"; not click's name, for newer Typers carry a click of their own.
UsageError = typer.BadParameter.__base__

EPILOG = """\b
Examples:
  cusubmatch count friends.parquet clique:4
  cusubmatch match payments.csv "(a)-->(b)-->(c)-->(a)" --source payer --destination payee -o rings.parquet
  cusubmatch explain payments.csv cycle:5:directed
  cusubmatch info payments.csv --directed --format json
  zcat payments.csv.gz | cusubmatch match - cycle:4 -o - | head
\b
PATTERN is text such as "(a:Account)-[:PAYS]->(b), (b)--(c)" or a generator: clique:4, cycle:5, path:3, star:6;
cycle, path and star take :directed. `cusubmatch COMMAND --help` lists the options.
"""


class _OneLineErrors(typer.core.TyperGroup):
    """The group of commands, with usage errors on one line instead of a usage screen."""

    def main(self, args=None, prog_name=None, standalone_mode=True, **extra):
        try:
            code = super().main(args=args, prog_name=prog_name, standalone_mode=False, **extra)
        except UsageError as error:
            typer.echo(f"cusubmatch: {one_line(error.format_message())}", err=True)
            code = 2
        except typer.Abort:
            code = 130
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code


app = typer.Typer(
    cls=_OneLineErrors,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


class Semantics(StrEnum):
    """What a match is."""

    MONOMORPHISM = "monomorphism"
    INDUCED = "induced"
    HOMOMORPHISM = "homomorphism"


class Engine(StrEnum):
    """What does the work."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


class Printed(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class PrintedPlan(StrEnum):
    """How a plan is printed."""

    TABLE = "table"
    JSON = "json"


class TableFormat(StrEnum):
    """How a table is written."""

    PARQUET = "parquet"
    CSV = "csv"
    TSV = "tsv"


class Ids(StrEnum):
    """What the ids of vertices are."""

    TEXT = "text"
    INT = "int"


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


Edges = Annotated[
    str, typer.Argument(metavar="EDGES", help="Parquet, CSV or TSV file (text also as .gz), or -; one row an edge.")
]
InputFormat = Annotated[
    TableFormat | None, typer.Option(metavar="FORMAT", help="Of EDGES: parquet, csv, tsv.  [default: as seen]")
]
WhichIds = Annotated[
    Ids | None, typer.Option("--ids", metavar="text|int", help="What ids are.  [default: int if nothing is lost]")
]
PatternText = Annotated[str, typer.Argument(metavar="PATTERN", help="Pattern text or a generator such as clique:4.")]
Source = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of EDGES.  [default: source, or src]")]
Destination = Annotated[str | None, typer.Option(metavar="COLUMN", help="Likewise.  [default: destination, or dst]")]
Directed = Annotated[bool | None, typer.Option("--directed/--undirected", help="[default: as the pattern]")]
EdgeLabel = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of EDGES with edge labels.")]
Vertices = Annotated[str | None, typer.Option(metavar="FILE", help="Such a file with one row a vertex.")]
Vertex = Annotated[str, typer.Option(metavar="COLUMN", help="Column of --vertices with the ids.")]
VertexLabel = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of --vertices with vertex labels.")]
HowToMatch = Annotated[Semantics, typer.Option(help="What a match is.")]
Unique = Annotated[
    bool | None,
    typer.Option("--unique/--no-unique", help="One match a subgraph.  [default: by semantics]"),
]
Distinct = Annotated[list[str] | None, typer.Option(metavar="A,B", help="Vertices to keep apart; repeatable.")]
WhichEngine = Annotated[Engine, typer.Option(help="What does the work.")]
TimeLimit = Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Give up after so long.")]
Limit = Annotated[int | None, typer.Option(metavar="ROWS", min=0, help="Stop after so many matches.")]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="PATH", help="A .parquet, .csv, .tsv, .csv.gz; a folder; - for stdout."),
]
PrintAs = Annotated[Printed, typer.Option("--format", help="Of what is printed.")]
PrintRowsAs = Annotated[
    Printed | None, typer.Option("--format", metavar="table|json|csv", help="Of what is printed; JSON: a line a row.")
]
RowsPerFile = Annotated[
    int | None, typer.Option(metavar="ROWS", min=1, help="Most of a part of a folder.  [default: 2**26]")
]
Sort = Annotated[bool, typer.Option("--sort", help="Rows in the order of the ids.")]
ShowProgress = Annotated[bool | None, typer.Option("--progress/--no-progress", help="[default: on a terminal]")]
Version = Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")]


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
    engine: WhichEngine = Engine.AUTO,
    time_limit: TimeLimit = None,
    form: PrintAs = Printed.TABLE,
    progress: ShowProgress = None,
) -> None:
    """Print how many matches there are, as one integer."""
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format)
    with one_line_errors():
        query = read_pattern(pattern, distinct)
        with Progress(progress) as shown:
            graph = read_graph(files, _as(directed, query), shown)
            import cusubmatch as csm

            how = {"semantics": semantics.value, "unique": unique, "engine": engine.value}
            total = csm.count_matches(graph, query, **how, time_limit=time_limit, progress=shown.start("counting"))
        print_count(total, form)


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
    engine: WhichEngine = Engine.AUTO,
    limit: Limit = None,
    time_limit: TimeLimit = None,
    rows_per_file: RowsPerFile = None,
    sort: Sort = False,
    progress: ShowProgress = None,
) -> None:
    """Write the matches, one row each, one column a named vertex, to a file or stdout.

    Without --output and --format: a table of the first 20 rows, and the total.
    """
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format)
    with one_line_errors():
        query = read_pattern(pattern, distinct)
        if not query.columns:
            raise ValueError(
                "pattern: it names no vertex, so a match has no column; write (a) instead of (), or use count"
            )
        if output not in (None, STDOUT):
            check_target(output, rows_per_file)
            if form is not None and form != format_of(output):
                raise ValueError(f"format: the suffix of path={output} says it; {form} goes to stdout, as path=-")
        elif rows_per_file is not None:
            raise ValueError("rows_per_file: parts are of a folder of files; name it, too, by path=")
        else:
            form = form or (Printed.TABLE if output is None else Printed.CSV)
            if sort and form == Printed.TABLE:
                raise ValueError("sort: rows are sorted for a file or format=csv; name one, too; a file by path=")
            if form != Printed.TABLE:
                output = STDOUT
                progress = False if progress is None and sys.stdout.isatty() else progress
        how = {"semantics": semantics.value, "unique": unique, "engine": engine.value, "time_limit": time_limit}
        with Progress(progress) as shown:
            graph = read_graph(files, _as(directed, query), shown)
            import cusubmatch as csm

            if form == Printed.TABLE:
                table, rows = _first_matches(graph, query, limit, how, shown)
            elif output == STDOUT:
                rows = _print_rows(graph, query, form, limit=limit, sort=sort, progress=shown.start("matching"), **how)
            else:
                options = {"limit": limit, "rows_per_file": rows_per_file, "sort": sort}
                rows = csm.write_matches(graph, query, output, progress=shown.start("matching"), **options, **how)
        note = " (--limit reached: there may be more)" if limit is not None and rows == limit else ""
        if form == Printed.TABLE:
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
    engine: WhichEngine = Engine.AUTO,
    rows: Annotated[bool, typer.Option("--rows", help="The plan of match rather than that of count.")] = False,
    form: Annotated[PrintedPlan, typer.Option("--format", help="Of what is printed.")] = PrintedPlan.TABLE,
) -> None:
    """Print the plan of the search, and which engine would run it."""
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format)
    with one_line_errors():
        query = read_pattern(pattern, distinct)
        graph = read_graph(files, _as(directed, query))
        import cusubmatch as csm

        how = {"semantics": semantics.value, "unique": unique, "engine": engine.value}
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


def _as(directed, query):
    return query.directed if directed is None else directed


def _print_rows(graph, query, form, **options):
    """Write all matches to stdout; returns the rows."""
    import cusubmatch as csm

    with contextlib.closing(csm.iter_matches(graph, query, batch_rows=ROWS_AT_ONCE, **options)) as batches:
        return write_rows(batches, csm.subgraph_match(graph, query, limit=0).schema, form)


def _first_matches(graph, query, limit, how, shown):
    """The first rows as an Arrow table, and how many matches there are (at most `limit`)."""
    import cusubmatch as csm

    wanted = FIRST_ROWS + 1 if limit is None else min(limit, FIRST_ROWS + 1)
    table = csm.subgraph_match(graph, query, limit=wanted, **how)
    if table.num_rows <= FIRST_ROWS:
        return table, table.num_rows
    total = csm.count_matches(graph, query, progress=shown.start("counting"), **how)
    return table.slice(0, FIRST_ROWS), total if limit is None else min(limit, total)


def main() -> None:
    """Run the command line; the entry point of the `cusubmatch` script."""
    app()
