"""The commands `explain` and `info`: the plan of a search, and what is in a graph."""

from __future__ import annotations

from typing import Annotated

import typer

from cusubmatch.cli.arguments import (
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
    Params,
    PatternText,
    PrintAs,
    Printed,
    PrintedPlan,
    Semantics,
    Source,
    Time,
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
from cusubmatch.cli.results import print_facts, print_plan
from cusubmatch.cli.terminal import one_line_errors

__all__ = ["explain", "info"]


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
    touching: Touching = None,
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
        graph = read_graph(files, direction_of(directed, query))
        import cusubmatch as csm

        how = how_to_match(semantics, unique, engine, devices)
        how |= condition_arguments(kind_of_ids(graph), param, candidates, touching, each_edge)
        print_plan(csm.explain(graph, query, **how, counting=not rows), form)


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
