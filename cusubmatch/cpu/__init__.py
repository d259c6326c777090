"""The CPU engine: Numba on all cores; `prepare` finds candidates, `Run` walks, `Kernels` make tables, `Sampler` draws."""

from cusubmatch.cpu.engine import METHODS, Run, choose, place, prepare
from cusubmatch.cpu.sample import Sampler
from cusubmatch.cpu.tables import Kernels

__all__ = ["METHODS", "Kernels", "Run", "Sampler", "choose", "place", "prepare"]
