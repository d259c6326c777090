# The public names, for type checkers: a dataframe in gives a dataframe of the same type out.
# `tests/test_typing.py` compares the signatures with those of the functions.

from collections.abc import Generator, Hashable, Mapping, Sequence
from typing import Any, overload

from cusubmatch import datasets as datasets
from cusubmatch import generators as generators
from cusubmatch.api.argument_types import (
    DataFrameT,
    DevicesOption,
    EdgesOption,
    EngineName,
    GraphLike,
    ProgressOption,
    Semantics,
    UniqueSemantics,
)
from cusubmatch.api.attach_edges import attach_edges as attach_edges
from cusubmatch.api.attach_edges import iter_attached_edges as iter_attached_edges
from cusubmatch.api.count_matches import count_matches as count_matches
from cusubmatch.api.count_matches import has_match as has_match
from cusubmatch.api.explain import explain as explain
from cusubmatch.api.write_matches import write_matches as write_matches
from cusubmatch.errors import AbsentIdWarning as AbsentIdWarning
from cusubmatch.errors import AbsentLabelWarning as AbsentLabelWarning
from cusubmatch.errors import CusubmatchError as CusubmatchError
from cusubmatch.errors import EngineUnavailable as EngineUnavailable
from cusubmatch.errors import GraphError as GraphError
from cusubmatch.errors import ResultTooLarge as ResultTooLarge
from cusubmatch.errors import TimeLimitExceeded as TimeLimitExceeded
from cusubmatch.graph import Graph as Graph
from cusubmatch.pattern import Pattern as Pattern
from cusubmatch.pattern import PatternError as PatternError

__version__: str

@overload
def count_by(
    G: DataFrameT,
    P: Pattern | str,
    by: Hashable | Sequence[Hashable],
    *,
    min_count: int = 1,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    progress: ProgressOption = None,
) -> DataFrameT: ...
@overload
def count_by(
    G: GraphLike,
    P: Pattern | str,
    by: Hashable | Sequence[Hashable],
    *,
    min_count: int = 1,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    progress: ProgressOption = None,
) -> Any: ...
@overload
def count_many(
    G: DataFrameT,
    patterns: Mapping[Any, Pattern | str],
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
) -> DataFrameT: ...
@overload
def count_many(
    G: GraphLike,
    patterns: Mapping[Any, Pattern | str],
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
) -> Any: ...
@overload
def iter_matches(
    G: DataFrameT,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    batch_rows: int = ...,
    sort: bool = False,
    progress: ProgressOption = None,
) -> Generator[DataFrameT]: ...
@overload
def iter_matches(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    batch_rows: int = ...,
    sort: bool = False,
    progress: ProgressOption = None,
) -> Generator[Any]: ...
@overload
def motif_census(
    G: DataFrameT,
    size: int = 3,
    *,
    semantics: UniqueSemantics = "monomorphism",
    engine: EngineName = "auto",
    time_limit: float | None = None,
) -> DataFrameT: ...
@overload
def motif_census(
    G: GraphLike,
    size: int = 3,
    *,
    semantics: UniqueSemantics = "monomorphism",
    engine: EngineName = "auto",
    time_limit: float | None = None,
) -> Any: ...
@overload
def sample_matches(
    G: DataFrameT,
    P: Pattern | str,
    n: int,
    *,
    seed: int | None = None,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
) -> tuple[DataFrameT, int]: ...
@overload
def sample_matches(
    G: GraphLike,
    P: Pattern | str,
    n: int,
    *,
    seed: int | None = None,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
) -> tuple[Any, int]: ...
@overload
def subgraph_match(
    G: DataFrameT,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    sort: bool = False,
    progress: ProgressOption = None,
) -> DataFrameT: ...
@overload
def subgraph_match(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    sort: bool = False,
    progress: ProgressOption = None,
) -> Any: ...
@overload
def vertex_counts(
    G: DataFrameT,
    P: Pattern | str,
    *,
    semantics: UniqueSemantics = "monomorphism",
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> DataFrameT: ...
@overload
def vertex_counts(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: UniqueSemantics = "monomorphism",
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> Any: ...
@overload
def subgraph_monomorphism(G: DataFrameT, pattern_G: GraphLike, motifs: object = None) -> DataFrameT: ...
@overload
def subgraph_monomorphism(G: GraphLike, pattern_G: GraphLike, motifs: object = None) -> Any: ...
