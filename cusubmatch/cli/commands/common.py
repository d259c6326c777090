"""What commands have in common: options as arguments of the Python functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cusubmatch.cli.arguments import EngineChoice, Semantics, device_argument

if TYPE_CHECKING:
    from cusubmatch.graph import Graph
    from cusubmatch.pattern import Pattern

__all__ = ["direction_of", "how_to_match", "kind_of_ids"]


def how_to_match(
    semantics: Semantics, unique: bool | None, engine: EngineChoice, devices: str | None = None
) -> dict[str, Any]:
    """What a match is and where it is searched."""
    where = {} if devices is None else {"devices": device_argument(devices)}
    return {"semantics": semantics.value, "unique": unique, "engine": engine.value} | where


def direction_of(directed: bool | None, query: Pattern) -> bool:
    """Whether the edges of the files are directed: as asked for, or as the pattern's."""
    return query.directed if directed is None else directed


def kind_of_ids(graph: Graph) -> str:
    """Whether the ids of a graph are "int" or "text"."""
    kind = graph.family.kind(graph.to_ids(graph.xp.arange(0)))
    return "int" if kind == "integer" else "text"
