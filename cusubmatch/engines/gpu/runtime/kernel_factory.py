"""Kernel factories, and recipes: what another process needs to make the same kernel.

A factory is a function of a target and a few plain values; for the same values it makes a kernel once. The values and
the factory's name are a recipe. It names the kernel on disk, and a process that compiles gets it instead of a function,
so that nothing of a closure has to travel.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["DeclaredKernel", "KernelFactory", "Recipe", "block_of", "kernel_factory"]


class Recipe(NamedTuple):
    """A factory, by module and name, and its arguments after the target."""

    module: str
    name: str
    arguments: tuple[Any, ...]

    def make(self, target: Any) -> Any:
        """The kernel, for a target."""
        return getattr(importlib.import_module(self.module), self.name)(target, *self.arguments)


class DeclaredKernel(NamedTuple):
    """A kernel as a GPU gets it: what it is called, how it is made, and the Numba signature of its launch."""

    name: str
    recipe: Recipe
    signature: Any


def block_of(kind: type, *fields: Any) -> Any:
    """The Numba type of a parameter block, a NamedTuple of arrays and scalars of these types."""
    from numba import types

    return types.BaseTuple.from_types(fields, kind)  # fields of one type make another type of tuple


class KernelFactory:
    """A function that makes kernels, each once."""

    def __init__(self, make: Callable[..., Any]):
        self._made, self._signature = functools.cache(make), inspect.signature(make)
        functools.update_wrapper(self, make)

    def __call__(self, target: Any, *arguments: Any, **named: Any) -> Any:
        kernel = self._made(target, *arguments, **named)
        if getattr(kernel, "recipe", kernel) is None:  # a GPU's; what a test's target makes has none
            kernel.recipe = self.recipe(*arguments, **named)
        return kernel

    def recipe(self, *arguments: Any, **named: Any) -> Recipe:
        """The recipe of the kernel for these arguments, without the target."""
        bound = self._signature.bind(None, *arguments, **named)
        bound.apply_defaults()
        _, *values = bound.arguments.values()
        return Recipe(self.__module__, self.__name__, tuple(map(_plain, values)))  # type: ignore[attr-defined]


def kernel_factory(make: Callable[..., Any]) -> KernelFactory:
    """Decorate a function (target, ...) that returns a kernel."""
    return KernelFactory(make)


def _plain(value):
    """A value as Python's own, so that equal recipes read alike."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        items = map(_plain, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value
