"""The kernels of k-cliques: which of them the size classes need, and each as a GPU gets it."""

from __future__ import annotations

from numba import int64, uint32, uint64, void

from cusubmatch.engines.gpu.cliques.global_bitmaps import SEGMENT_WORDS, make_count_in_matrices, make_fill_matrices
from cusubmatch.engines.gpu.cliques.neighbourhood_rows import WORD
from cusubmatch.engines.gpu.cliques.shared_bitmaps import WINDOW, make_count_in_rows
from cusubmatch.engines.gpu.cliques.word_rows import make_count_in_words
from cusubmatch.engines.gpu.cliques.work_estimates import make_reach
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel
from cusubmatch.engines.gpu.runtime.launch_batches import FIRST_TICKET

__all__ = [
    "BLOCK_THREADS",
    "BLOCK_TICKET",
    "MATRIX_TICKET",
    "WARP_ROWS",
    "WARP_TICKET",
    "needed",
    "rows_for",
    "signatures",
]

WARP_TICKET, BLOCK_TICKET, MATRIX_TICKET = range(FIRST_TICKET, FIRST_TICKET + 3)
BLOCK_ROWS = (128, 256, 384, 448, 512)  # sizes of a block's rows in shared memory, of which it has 48 KB at most
BLOCK_THREADS = 256
WARP_ROWS = 64  # most rows of a warp


def rows_for(degree):
    """The size of a block's rows for vertices of this out-degree."""
    return min(rows for rows in BLOCK_ROWS if rows >= degree)


def needed(k, in_matrices, longest_in_blocks, in_warps, in_words, most_by_warp, wide):
    """The kernels of the classes that are not empty."""
    recipes = []
    if in_matrices:
        recipes += [
            make_fill_matrices.recipe(BLOCK_THREADS, wide),
            make_count_in_matrices.recipe(k, BLOCK_THREADS, SEGMENT_WORDS, MATRIX_TICKET, wide),
        ]
    if longest_in_blocks:
        warps = BLOCK_THREADS // WORD
        rows = make_count_in_rows.recipe(
            k, rows_for(longest_in_blocks), BLOCK_THREADS, warps, BLOCK_TICKET, wide, WINDOW
        )
        recipes += [make_reach.recipe(wide), rows]
    if in_warps:
        recipes.append(make_count_in_rows.recipe(k, most_by_warp, BLOCK_THREADS, 1, WARP_TICKET, wide))
    if in_words:
        recipes.append(make_count_in_words.recipe(k, BLOCK_THREADS, wide))
    return [kernel for kernel in signatures() if kernel.recipe in recipes]


def signatures() -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    ids, number, state = uint32[::1], uint32, uint64[::1]
    kernels = []
    for name, position, wide in (("32-bit offsets", uint32[::1], False), ("64-bit offsets", int64[::1], True)):
        in_words = void(position, ids, ids, number, number, state)
        in_rows = void(position, ids, ids, ids, number, number, state)
        kernels.append(DeclaredKernel(f"reach, {name}", make_reach.recipe(wide), void(position, ids, ids, ids)))
        for k in (4, 5):
            kernels.append(
                DeclaredKernel(
                    f"count_in_words k={k}, {name}", make_count_in_words.recipe(k, BLOCK_THREADS, wide), in_words
                )
            )
            kernel = make_count_in_rows.recipe(k, WARP_ROWS, BLOCK_THREADS, 1, WARP_TICKET, wide)
            kernels.append(DeclaredKernel(f"count_in_rows by warp k={k}, {name}", kernel, in_rows))
            for most in BLOCK_ROWS:
                kernel = make_count_in_rows.recipe(
                    k, most, BLOCK_THREADS, BLOCK_THREADS // WORD, BLOCK_TICKET, wide, WINDOW
                )
                kernels.append(DeclaredKernel(f"count_in_rows by block of {most} k={k}, {name}", kernel, in_rows))
            kernel = make_count_in_matrices.recipe(k, BLOCK_THREADS, SEGMENT_WORDS, MATRIX_TICKET, wide)
            in_matrices = void(position, ids, ids, number, ids, number, number, state)
            kernels.append(DeclaredKernel(f"count_in_matrices k={k}, {name}", kernel, in_matrices))
        fill = void(position, ids, ids, ids, ids, number, ids)
        kernels.append(DeclaredKernel(f"fill_matrices, {name}", make_fill_matrices.recipe(BLOCK_THREADS, wide), fill))
    return kernels
