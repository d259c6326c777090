"""Counts that have kernels of their own: cliques of 3, 4 and 5 vertices in one symmetric relation.

Which pattern it is follows from the plan: every level touches all earlier ones by one relation, and any two vertices
can be exchanged. All else is walked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cusubmatch.engines.gpu.cliques.cliques import Cliques
from cusubmatch.engines.gpu.cliques.full_row_triangles import FullRowTriangles
from cusubmatch.engines.gpu.cliques.interleaved import PARTS
from cusubmatch.engines.gpu.cliques.orientation import Oriented, orient
from cusubmatch.engines.gpu.cliques.triangles import Triangles
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import TaskRange
from cusubmatch.plan import Plan

__all__ = ["clique_parts", "is_counted_in_full_rows", "specialised_count"]

KEPT = 4


def clique_parts(gpu: Device, prepared: Prepared, plan: Plan) -> int:
    """How many equal parts the count of a plan has; 0 if it is to be walked."""
    return PARTS if _counter(gpu, prepared, plan) is not None else 0


def specialised_count(
    gpu: Device, prepared: Prepared, plan: Plan, parts: TaskRange | None = None
) -> Callable[[Any], int] | None:
    """A function that counts what a walk would sum up, given `check(done, total)`; None if the plan is to be walked.

    With `parts`, a range of `clique_parts`, it counts their share.
    """
    made = _counter(gpu, prepared, plan)
    if made is None:
        return None
    each = plan.pattern.automorphisms.order if plan.semantics == "homomorphism" else 1  # a walk visits all embeddings
    return lambda check: each * made.count(lambda done, count: check(done, each * count), parts=parts)


def is_counted_in_full_rows(gpu: Device, prepared: Prepared, plan: Plan) -> bool:
    """Whether a specialised plan is that of triangles in a large graph, which is not oriented for it."""
    relation = plan.relations[plan.levels[1].backward_neighbours[0].relation]
    arcs = len(prepared.adjacency.targets)
    return len(plan.levels) == 3 and relation.target_labels is None and arcs >= gpu.tunables.full_rows_arcs


def _counter(gpu: Device, prepared: Prepared, plan: Plan) -> Triangles | FullRowTriangles | Cliques | None:
    """What counts the cliques of a plan; kept with the graph."""
    if not plan.is_specialised:
        return None
    relation, k = plan.levels[1].backward_neighbours[0].relation, len(plan.levels)
    graph, adjacency = prepared.graph, prepared.adjacency
    labels, key = plan.relations[relation].target_labels, (adjacency.key, relation)

    def rows():
        offsets, targets = adjacency.offsets[relation], adjacency.targets
        first, end = (0, len(targets)) if len(adjacency.offsets) == 1 else offsets[[0, -1]].tolist()
        return offsets - first if first else offsets, targets[first:end]

    def oriented():
        near = graph.near if len(plan.relations) == 1 and labels is None and not graph.directed else graph
        allowed = None if labels is None else graph.labelled(labels)
        offsets, targets = rows()
        if near is not graph:
            near_rows = near.adjacency((plan.relations[relation],))
            offsets, targets = near_rows.offsets[0], near_rows.targets
        found = orient(near.xp, offsets, targets, allowed)
        return found, Oriented(*map(graph.xp.asarray, found))

    def counter():
        if is_counted_in_full_rows(gpu, prepared, plan):
            return FullRowTriangles(gpu.target, graph.xp, *rows(), gpu.processors, to_device=gpu.to_device)
        near, found = graph.cache.get("oriented", key, oriented, KEPT)
        options = {"processors": gpu.processors, "to_device": gpu.to_device, "near": near}
        if k == 3:
            return Triangles(gpu.target, graph.xp, found, **options)
        return Cliques(gpu.target, graph.xp, found, k, **options)

    made = graph.cache.get("closed", (key, k), counter, KEPT)
    if k > 3 and len(made.unsupported):
        return None
    return made
