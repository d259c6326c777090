"""What results have in common: names and ids of their columns, their memory, and the rows of further calls."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.graph import Graph
from cusubmatch.graph.cache import finished
from cusubmatch.pattern import Pattern, PatternError
from cusubmatch.system.host_memory import free_bytes

__all__ = [
    "BLOCKS_AT_ONCE",
    "blocks_of_parts",
    "empty_frame",
    "fill_columns",
    "image_columns",
    "names_of_columns",
    "names_with_edges",
    "result_budget",
    "returned_to",
]

BLOCKS_AT_ONCE = 32  # blocks of rows that exist at the same time under a memory limit, about


def names_of_columns(graph: Graph, pattern: Pattern) -> list[Hashable]:
    """Names of the columns of a pattern's matches."""
    names = pattern.columns
    if not names:
        raise PatternError("pattern: all its vertices are anonymous, so a match has no columns; name at least one")
    if graph.family.strings_only:
        names = [str(name) for name in names]
        if len(set(names)) < len(names):
            raise PatternError(f"pattern: vertex names must differ as text to become {graph.family.name} columns")
    return names


def names_with_edges(graph: Graph, pattern: Pattern, bound_names: Sequence[str]) -> list[Hashable]:
    """Names of the columns of a pattern's matches, then of the edges that are bound to rows."""
    names = names_of_columns(graph, pattern)
    if both := sorted(set(map(str, names)) & set(bound_names)):
        raise PatternError(f"pattern: {both[0]!r} names a vertex and an edge, which would be one column; rename one")
    return [*names, *bound_names]


def blocks_of_parts(parts: Iterable[Any], limit: int | None, *options: Any) -> Generator[Any, None, None]:
    """Blocks of rows of calls, one call after the other; at most `limit` rows, not 0, together."""
    for part in parts:
        blocks = part.blocks(limit, *options)
        try:
            for block in blocks:
                yield block
                if limit is not None:
                    limit -= block.shape[1]
        finally:
            blocks.close()
        if limit == 0:
            return


def result_budget(memory_limit: int | None, xp: Any) -> int:
    """Bytes that a result may take where arrays of `xp` lie: all but a quarter of what is free, by default."""
    return int(memory_limit) if memory_limit is not None else 3 * free_bytes(xp) // 4


def fill_columns(engine: Engine, columns: Sequence[Any], ids: Any, block: Any, images: np.ndarray) -> None:
    """Fill columns, up to their ends, with the vertices of all images of a block, as `ids` or as they are."""
    rows = block.shape[1]
    if ids is not None and not isinstance(ids, np.ndarray) and images.shape[1] > 1:
        block, ids = ids[block], None  # a device copies an id in less time than it looks one up
    for column, sources in zip(columns, images.tolist(), strict=True):
        for image, source in enumerate(sources):
            place = column[image * rows : (image + 1) * rows]
            vertices = block[source][: len(place)]
            if ids is None:
                place[:] = vertices
            elif isinstance(ids, np.ndarray):
                engine.gather(ids, vertices, place)
            else:
                ids.take(vertices, out=place)


def image_columns(xp: Any, ids: Any, blocks: Sequence[Any], images: np.ndarray) -> Any:
    """The ids of all images of all blocks, as one array (columns, rows)."""
    whole = ids[blocks[0] if len(blocks) == 1 else xp.concatenate(blocks, axis=1)]
    if images.shape[1] == 1:
        return whole
    return whole[xp.asarray(images)].reshape(len(images), images.shape[1] * whole.shape[1])


def empty_frame(graph: Graph, pattern: Pattern) -> Any:
    """A dataframe of the graph's family for no match of a pattern."""
    ids = graph.to_ids(graph.xp.empty(0, np.int32))
    return graph.family.frame(dict.fromkeys(names_of_columns(graph, pattern), ids))


def returned_to(graph: Graph, engine: Engine, array: Any) -> Any:
    """An array of an engine where a graph lies."""
    xp = graph.xp
    if xp is np:
        with engine.current():
            return engine.to_host(array)
    if isinstance(array, np.ndarray) or array.device == graph.targets.device:
        return xp.asarray(array)
    with engine.current():
        array = xp.ascontiguousarray(array)  # no other array is copied to another device
    array.device.synchronize()  # a copy to another device does not wait for this one's streams,
    return finished(xp, xp.asarray(array))  # nor what has the memory of its source next for the copy
