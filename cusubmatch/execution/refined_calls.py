"""The conditions of a call, put to a graph: masks over vertices and rows, as refined labels.

What was refined for a pattern and its parameters is kept with the graph, and with it the plans that were made for it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan
from cusubmatch.plan.asked import Asked, VertexSet
from cusubmatch.plan.constraints import LabelNames

__all__ = ["asked_of", "key_of", "parameters_key", "refined", "vertex_set", "vertex_sets", "with_words"]

MIN_KEPT_REFINED = 4
SCALARS = (bool, int, float, str, type(None))


def asked_of(
    pattern: Pattern,
    params: Mapping[str, Any] | None,
    candidates: Mapping[int, np.ndarray | VertexSet] | None,
    edges: str = "any",
) -> Asked:
    """What a call asks beside labels and edges; `PatternError` if a parameter is missing or unused."""
    from cusubmatch.plan.conditions.environment import check_parameters

    parameters = check_parameters(pattern.parameters, params)
    return Asked(pattern, parameters, vertex_sets(candidates), edges=edges)


def vertex_sets(candidates: Mapping[int, np.ndarray | VertexSet] | None) -> dict[int, VertexSet]:
    """The candidates of a call as sets that can be compared."""
    return {
        vertex: members if isinstance(members, VertexSet) else vertex_set(members)
        for vertex, members in (candidates or {}).items()
    }


def vertex_set(members: np.ndarray) -> VertexSet:
    """Internal vertices, in order, as a set that can be compared."""
    return VertexSet(_digest(members.tobytes()), members)


def refined(graph: Graph, asked: Asked) -> Any:
    """The graph with refined labels and the pattern that asks for them (`plan.conditions.refine.Refined`).

    `graph` is where the engine works.
    """
    return graph.cache.get("refined", key_of(asked), lambda: _refine(graph, asked), graph.keep(MIN_KEPT_REFINED))


def _refine(graph: Graph, asked: Asked) -> Any:
    from cusubmatch.plan.conditions.environment import Environment
    from cusubmatch.plan.conditions.refine import VertexMask, refine
    from cusubmatch.plan.conditions.split import split_conditions

    environment = Environment(graph, asked.pattern.elements, asked.parameters)
    split = split_conditions(asked.pattern.conditions, environment)
    masks: dict[int, list[VertexMask]] = {}
    for vertex, members in asked.candidates.items():
        text = f"candidates of {asked.pattern.names[vertex]}"
        masks[vertex] = [VertexMask(members.key, members.mask(graph), text)]
    for vertex, (inside, members) in asked.touched.items():
        text = "touching" if inside else "not touching"
        mask = VertexMask((inside, members.key), members.mask(graph) == inside, text)
        masks.setdefault(vertex, []).append(mask)
    return refine(asked.pattern, split, environment, masks)


def with_words(plan: Plan, asked: Asked, refined_call: Any) -> Plan:
    """A plan that says what was asked and what it kept."""

    def readable(names: Mapping[frozenset[int], frozenset | None]) -> dict[frozenset[int], frozenset | None]:
        return {codes: refined_call.words.get(labels, labels) for codes, labels in names.items()}

    names = LabelNames(*map(readable, plan.label_names))
    return dataclasses.replace(plan, label_names=names, asked=asked, kept=refined_call.kept)


def key_of(asked: Asked) -> Hashable:
    """Equal for calls that ask the same."""
    parameters = parameters_key(asked.parameters)
    sets = tuple((vertex, members.key) for vertex, members in sorted(asked.candidates.items()))
    touched = tuple((vertex, inside, members.key) for vertex, (inside, members) in sorted(asked.touched.items()))
    return asked.pattern, parameters, sets, touched, asked.edges


def parameters_key(parameters: Mapping[str, Any] | None) -> Hashable:
    """Equal for equal values of parameters."""
    return tuple((name, _parameter_key(value)) for name, value in sorted((parameters or {}).items()))


def _parameter_key(value: Any) -> Hashable:
    """A value that is equal for equal parameters."""
    if type(value) in SCALARS:
        return type(value).__name__, repr(value)
    try:
        return _digest(pickle.dumps(value, 5))
    except (TypeError, AttributeError, pickle.PicklingError):
        return repr(value)  # refused when it is compared


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
