"""Types of the public functions' arguments; no dataframe library is imported for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

__all__ = [
    "DataFrame",
    "DataFrameT",
    "DevicesOption",
    "EdgesOption",
    "EngineName",
    "GraphLike",
    "ProgressOption",
    "Semantics",
    "UniqueSemantics",
]

Semantics: TypeAlias = Literal["monomorphism", "induced", "homomorphism"]
UniqueSemantics: TypeAlias = Literal["monomorphism", "induced"]  # those whose matches have orbits
EngineName: TypeAlias = Literal["auto", "cpu", "gpu"]
DevicesOption: TypeAlias = Literal["all"] | int | Sequence[int] | None
EdgesOption: TypeAlias = Literal["any", "each"]
ProgressOption: TypeAlias = Callable[[float, int], object] | bool | None

# A Graph, a cugraph.Graph, a networkx graph, or edges as `Graph.from_edgelist` takes them: no type says that.
GraphLike: TypeAlias = Any


class DataFrame(Protocol):
    """What the dataframes of pandas, cuDF, Polars and Arrow have in common, and lazy ones and arrays lack."""

    @property
    def columns(self) -> Any:
        """Column names, or columns."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def equals(self) -> Any:
        """A method that compares with another dataframe."""
        ...


DataFrameT = TypeVar("DataFrameT", bound=DataFrame)
