"""The kernels of a count by w-cutset conditioning as a GPU gets them, with the types of all arguments."""

from __future__ import annotations

import functools

from numba import types as nb

from cusubmatch.engines.gpu.cutset.cutset_kernel import CountArrays, Launch, make_count_tasks
from cusubmatch.engines.gpu.cutset.state_format import StateParts
from cusubmatch.engines.gpu.cutset.tasks import TaskArrays
from cusubmatch.engines.gpu.cutset.world_kernels import make_narrow_worlds, make_write_worlds
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of

__all__ = ["cutset_kernels"]

_WORDS, _SIGNED, _LONG, _WIDE, _FLOATS = (
    nb.Array(dtype, 1, "C") for dtype in (nb.uint32, nb.int32, nb.int64, nb.uint64, nb.float64)
)


@functools.cache
def cutset_kernels() -> list[DeclaredKernel]:
    """All of them."""
    word = nb.uint32
    tasks = block_of(TaskArrays, _WORDS, _SIGNED, _SIGNED, _WORDS, _LONG)
    arrays = block_of(CountArrays, *[_WORDS] * 5, _FLOATS, *[_WORDS] * 2, _FLOATS, _SIGNED, _WIDE)
    launch, parts = (
        block_of(Launch, *[word] * 8, nb.int64, nb.int64, nb.float64),
        block_of(StateParts, *[word] * len(StateParts._fields)),
    )
    return [
        DeclaredKernel("count tasks", make_count_tasks.recipe(), nb.void(tasks, arrays, launch, parts)),
        DeclaredKernel(
            "narrow worlds", make_narrow_worlds.recipe(), nb.void(_WORDS, _WORDS, _WORDS, _SIGNED, word, _WORDS, _WORDS)
        ),
        DeclaredKernel("write worlds", make_write_worlds.recipe(), nb.void(_WORDS, _WORDS, word, *[_WORDS] * 4)),
    ]
