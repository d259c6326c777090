"""The GPU engine: kernels in Numba CUDA, arrays in CuPy; `prepare` finds candidates, `Run` executes a plan."""

from cusubmatch.gpu.engine import METHODS, Run, choose, place, prepare

__all__ = ["METHODS", "Run", "choose", "place", "prepare"]
