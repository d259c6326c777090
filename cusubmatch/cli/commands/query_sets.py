"""The command `batch`: a query set in a file, answered by a Dask cluster."""

from __future__ import annotations

import typer

from cusubmatch.cli.arguments import (
    Candidates,
    Destination,
    Directed,
    EachEdge,
    EdgeId,
    EdgeLabel,
    Edges,
    EngineChoice,
    HowToMatch,
    InputFormat,
    JobOutput,
    Limit,
    Params,
    Queries,
    Resume,
    Scheduler,
    Semantics,
    ShowProgress,
    Source,
    Time,
    TimeLimit,
    Touching,
    Unique,
    Vertex,
    VertexLabel,
    Vertices,
    WhichEngine,
    WhichIds,
    WorkerCount,
    WriteMatches,
)
from cusubmatch.cli.batch import answer_queries, cluster_client, cluster_graph, read_queries
from cusubmatch.cli.commands.common import how_to_match
from cusubmatch.cli.condition_options import condition_arguments
from cusubmatch.cli.inputs import GraphFiles
from cusubmatch.cli.results import print_batch
from cusubmatch.cli.terminal import one_line_errors
from cusubmatch.display.progress import Progress

__all__ = ["batch"]


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
    param: Params = None,
    candidates: Candidates = None,
    touching: Touching = None,
    each_edge: EachEdge = False,
    edge_id: EdgeId = None,
    time: Time = None,
    engine: WhichEngine = EngineChoice.AUTO,
    limit: Limit = None,
    time_limit: TimeLimit = None,
    progress: ShowProgress = None,
) -> None:
    """Count the matches of every query of a file, or write them with --matches, on a Dask cluster.

    The folder gets results.parquet, one row a query. The exit code is 1 if a query could not be finished.
    """
    files = GraphFiles(edges, source, destination, edge_label, vertices, vertex, vertex_label, ids, input_format, time)
    with one_line_errors():
        asked = read_queries(queries)
        if limit is not None and not matches:
            raise ValueError("limit: counts have none; say matches=, too")
        if edge_id is not None and not matches:
            raise ValueError("edge_id: counts name no rows; say matches=, too")
        if directed is None:
            directed = any(pattern.directed for _, pattern in asked if not isinstance(pattern, str))
        with Progress(progress) as line, cluster_client(scheduler, workers, engine.value) as client:
            line.start("building the graph")
            graph = cluster_graph(files, directed, client)
            how = how_to_match(semantics, unique, engine) | {
                "time_limit": time_limit,
                "resume": resume,
                "client": client,
            }
            how |= condition_arguments(None if ids is None else ids.value, param, candidates, touching, each_edge)
            how |= {"edge_id": edge_id} if matches else {}
            table = answer_queries(graph, asked, output, limit, matches, line.start("queries"), how)
        if print_batch(table, output):
            raise typer.Exit(1)
