"""Orders to compile a kernel, as they travel from one process to another: a pickle on a line, in base 85."""

from __future__ import annotations

import base64
import pickle
from typing import Any, NamedTuple

__all__ = ["Order", "decode", "encode"]


class Order(NamedTuple):
    """A kernel to be compiled.

    Attributes
    ----------
    urgency : int
        The lowest come first.
    number : int
        By which the server says that it is done.
    recipe : Recipe
        Of the engine that the kernel belongs to.
    types : tuple
        Numba types of the arguments.
    capability : tuple of int
        Compute capability of the GPU.
    """

    urgency: int
    number: int
    recipe: Any
    types: tuple
    capability: tuple[int, int]


def encode(order: Order) -> bytes:
    """An order as a line."""
    return base64.b85encode(pickle.dumps(tuple(order))) + b"\n"


def decode(line: bytes) -> Order:
    """The order of a line."""
    return Order(*pickle.loads(base64.b85decode(line.strip())))  # noqa: S301 - from the process that started this one
