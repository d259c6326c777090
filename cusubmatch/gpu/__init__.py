"""The GPU engine: Numba kernels, CuPy arrays; `prepare` finds candidates, `Run` executes a plan, `Sampler` draws."""

from cusubmatch.gpu.engine import METHODS, Run, choose, place, prepare
from cusubmatch.gpu.sample import Sampler

__all__ = ["METHODS", "Run", "Sampler", "choose", "place", "prepare"]
