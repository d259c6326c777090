"""The GPU engine: Numba kernels, CuPy arrays; `prepare` finds candidates, `Run` walks, `Kernels` fill tables, `Sampler` draws."""

from cusubmatch.gpu.engine import METHODS, Run, choose, place, prepare
from cusubmatch.gpu.sample import Sampler
from cusubmatch.gpu.tables import Kernels, mates

__all__ = ["METHODS", "Kernels", "Run", "Sampler", "choose", "mates", "place", "prepare"]
