"""The GPU engine: Numba, CuPy; `prepare` finds candidates, `Run` walks, `Kernels` fill tables, `Sampler` draws."""

from cusubmatch.gpu.engine import METHODS, Run, choose, place, prepare
from cusubmatch.gpu.rates import RATES
from cusubmatch.gpu.sample import Sampler
from cusubmatch.gpu.tables import Kernels, mates

__all__ = ["METHODS", "RATES", "Kernels", "Run", "Sampler", "choose", "mates", "place", "prepare"]
