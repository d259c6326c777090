"""The CPU engine: Numba; `prepare` finds candidates, `Run` walks, `Kernels` fill tables, `Sampler` draws."""

from cusubmatch.cpu.engine import METHODS, Run, choose, place, prepare
from cusubmatch.cpu.rates import RATES
from cusubmatch.cpu.sample import Sampler
from cusubmatch.cpu.tables import Kernels, mates

__all__ = ["METHODS", "RATES", "Kernels", "Run", "Sampler", "choose", "mates", "place", "prepare"]
