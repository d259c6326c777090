"""The CPU engine's gather: few positions by NumPy, many by compiled code, both the same values."""

import numpy as np
import pytest

from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.tunables import DEFAULT_TUNABLES

COMPILED = DEFAULT_TUNABLES.compiled_gather


@pytest.mark.parametrize("dtype", [np.int64, np.uint32])
@pytest.mark.parametrize("size", [0, 1, COMPILED - 1, COMPILED + 1])
def test_values_by_position_are_those_that_numpy_takes(dtype, size):
    random = np.random.default_rng(size)
    values = random.permutation(1000).astype(dtype)
    positions, out = random.integers(0, 1000, size).astype(np.int32), np.zeros(size + 2, dtype)
    CpuEngine().gather(values, positions, out[1:-1])
    assert out[1:-1].tolist() == values[positions].tolist()
    assert out[0] == out[-1] == 0


def test_positions_that_do_not_lie_together_are_taken_too():
    rows = np.arange(2 * COMPILED, dtype=np.int32).reshape(-1, 2)
    out = np.zeros(COMPILED, np.int64)
    CpuEngine().gather(np.arange(2 * COMPILED)[::-1].copy(), rows[:, 1], out)
    assert out.tolist() == list(range(2 * COMPILED - 2, -1, -2))
