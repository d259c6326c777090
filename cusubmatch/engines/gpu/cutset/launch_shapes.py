"""How many blocks of how many warps a kernel is launched with, by the shared memory that it needs."""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.engines.gpu.runtime.device import Device

__all__ = ["REGISTERS", "BlockShape", "block_shape"]

WARPS = 4  # of a block, or fewer
REGISTERS = 96  # of a thread
SHARED_BYTES = 48 << 10  # of a block: more has to be asked for


class BlockShape(NamedTuple):
    """A launch.

    Attributes
    ----------
    blocks, threads, shared : int
        Blocks that have room at the same time, threads of each, and bytes of its shared memory.
    """

    blocks: int
    threads: int
    shared: int

    def launch(self, turns: int = 1) -> tuple[int, int, int]:
        """What a kernel is launched with, for so many times as many blocks."""
        return turns * self.blocks, self.threads, self.shared


def block_shape(gpu: Device, of_block: int, of_warp: int) -> BlockShape:
    """The shape for so many words of shared memory for each block and warp.

    Raises
    ------
    MemoryError
        Not even one warp has room.
    """
    warps = min(WARPS, (SHARED_BYTES // 4 - of_block) // of_warp) if gpu.target.WARP > 1 else 1
    if warps < 1:
        raise MemoryError
    words, settings = of_block + warps * of_warp, gpu.tunables
    blocks = settings.grid[0] if settings.grid else gpu.resident(words, warps, REGISTERS)
    return BlockShape(blocks, warps * gpu.target.WARP, 4 * words)
