"""Every kernel compiles for three generations of GPUs, within a budget of registers, without spills: no GPU needed."""

import functools

import pytest
from budget import ARCHITECTURES, budget_of, lower

from cusubmatch.engines.gpu.all_kernels import all_kernels
from cusubmatch.engines.gpu.cutset import launch_shapes
from cusubmatch.engines.gpu.runtime.cuda import gpu
from cusubmatch.engines.gpu.runtime.device import CONDITION_REGISTERS, REGISTERS, SUFFIX_REGISTERS, WIDE_REGISTERS
from cusubmatch.engines.gpu.walker.variant import WEIGHTS

# Registers of a thread: with 64 a multiprocessor holds 32 warps, with 48 it holds 40.
MOST = {
    "walk": REGISTERS,
    "wide walk": WIDE_REGISTERS,
    "walk by task": WIDE_REGISTERS,
    "walk with a suffix": SUFFIX_REGISTERS,
    "walk of rows": REGISTERS,
    "walk of rows with conditions": CONDITION_REGISTERS,
    "cliques": 64,
    "triangles": 40,
    "filters": 48,
    "factors": 48,
    "joins of factors": 72,
    "conditioning": 80,
    "conditioning on long sets": 96,
    "cutsets": launch_shapes.REGISTERS,
    "rows": 40,
    "extend_frontier": 56,
    "tables": 72,
    "wedges": 64,  # a block of 1024 threads has no more
}
STATIC_SHARED = 48 << 10


def kernels():
    for group, (name, recipe, signature) in all_kernels(slots=(32,)):
        yield group, name, recipe.make(gpu()).py_func, signature


QUICK_GENERATION = 9


LARGE = {"walk", "wide walk", "walk by task", "walk with a suffix", "walk of rows", "walk of rows with conditions"}


def parameters():
    """All kernels; of each group that compiles fast one is quick."""
    seen = set(LARGE)
    for module, name, function, signature in kernels():
        marks = [pytest.mark.thorough] if module in seen else []
        seen.add(module)
        yield pytest.param(module, name, function, signature, id=f"{module}-{name}", marks=marks)


def architectures():
    """The GPUs, of which that of a data centre today is quick."""
    for major, minor in ARCHITECTURES:
        marks = [] if major == QUICK_GENERATION else [pytest.mark.thorough]
        yield pytest.param((major, minor), id=f"sm_{major}{minor}", marks=marks)


def most_registers(module, name, *, older):
    """Registers of a thread; where an older GPU needs more, it holds fewer warps of those that are launched."""
    if older and (module, name) == ("walk", WEIGHTS):
        return WIDE_REGISTERS
    if older and (module, name) == ("conditioning", "condition 4"):
        return 88
    if older and module == "conditioning on long sets":
        return 112
    return SUFFIX_REGISTERS if older and module == "walk of rows" else MOST[module]


lowered_once = functools.lru_cache(maxsize=1)(lower)  # the GPUs of a kernel come one after another


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", list(architectures()))
@pytest.mark.parametrize(("module", "name", "function", "signature"), list(parameters()))
def test_a_kernel_keeps_its_budget(module, name, function, signature, architecture):
    budget = budget_of(lowered_once(function, signature), architecture)
    print(f"{module} {name} sm_{architecture[0]}{architecture[1]}: {budget}")
    assert budget.registers <= most_registers(module, name, older=architecture[0] < 9)
    assert budget.spilled == budget.stack == 0
    assert budget.shared <= STATIC_SHARED
