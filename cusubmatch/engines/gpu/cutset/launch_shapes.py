"""How many blocks of how many warps a kernel is launched with, by the shared memory that it needs."""

from __future__ import annotations

from typing import NamedTuple

from cusubmatch.engines.gpu.runtime.device import Device

__all__ = ["OLDER_REGISTERS", "REGISTERS", "BlockShape", "block_shape"]

WARPS = 4  # of a block, or fewer
REGISTERS, OLDER_REGISTERS = 96, 112  # of a thread; the second number before generation 9
SHARED_BYTES = 48 << 10  # of a block: more has to be asked for


class BlockShape(NamedTuple):
    """A launch.

    Attributes
    ----------
    blocks, threads, shared : int
        Blocks, threads of each, and bytes of its shared memory.
    """

    blocks: int
    threads: int
    shared: int

    @property
    def launch(self) -> tuple[int, int, int]:
        """What a kernel is launched with."""
        return self.blocks, self.threads, self.shared


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
    registers = REGISTERS if gpu.generation >= 9 else OLDER_REGISTERS
    blocks = settings.grid[0] if settings.grid else gpu.resident(words, warps, registers)
    return BlockShape(blocks, warps * gpu.target.WARP, 4 * words)
