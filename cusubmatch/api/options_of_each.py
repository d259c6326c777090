"""The options of each of several patterns: parameters and candidates are shared by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.pattern import Pattern, PatternError

__all__ = ["options_of_each"]


def options_of_each(patterns: Iterable[Pattern], options: QueryOptions) -> list[tuple[Pattern, QueryOptions]]:
    """Each pattern, with those of the parameters and candidates that it has names for.

    Raises
    ------
    PatternError
        If no pattern has a name.
    TypeError
        If they are no mappings.
    """
    patterns = list(patterns)
    if options.params is None and options.candidates is None:
        return [(pattern, options) for pattern in patterns]
    own = [_those_of("params", pattern.parameters, options.params) for pattern in patterns]
    sets = [_those_of("candidates", pattern.names, options.candidates) for pattern in patterns]
    _check_used("params", options.params, own)
    _check_used("candidates", options.candidates, sets)
    return [
        (pattern, dataclasses.replace(options, params=values or None, candidates=some or None))
        for pattern, values, some in zip(patterns, own, sets, strict=True)
    ]


def _those_of(argument: str, names: Iterable[Any], given: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Those of the values of an argument that a pattern has names for."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{argument}: expected a mapping of names to values, got {type(given).__name__}")
    return {name: given[name] for name in names if name in given} if given else {}


def _check_used(argument: str, given: Mapping[Any, Any] | None, used: Iterable[Mapping[Any, Any]]) -> None:
    """Refuse names that no pattern has."""
    if unused := sorted(set(given or ()).difference(*used), key=str):
        raise PatternError(f"{argument}: {unused[0]!r} is in none of the patterns")
