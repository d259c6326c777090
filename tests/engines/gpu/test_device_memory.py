"""Which memory a thread takes on a GPU, with modules that stand for CuPy and RMM."""

import contextlib
import sys
from types import ModuleType, SimpleNamespace

import pytest

from cusubmatch.engines.gpu.elimination.device_factors import CudaFactors, _Streams
from cusubmatch.engines.gpu.runtime import device_memory
from cusubmatch.engines.gpu.runtime.device_memory import from_a_pool, keep_memory_during


class CudaMemoryResource:
    """Stands for RMM's resource that asks the driver."""


class PoolMemoryResource(CudaMemoryResource):
    """Stands for one that does not."""


class Pool:
    """As much of CuPy's pool as is used; `given_back` has how much it was asked to give back."""

    def __init__(self):
        self.free, self.given_back = 0, []

    def malloc(self, size):
        return "from the pool", size

    def free_bytes(self):
        return self.free

    def free_all_blocks(self, stream=None):
        self.given_back.append(self.free)
        self.free = 0


class Launch:
    """One that goes on until it is said to have ended."""

    ended = False


def rmm_cupy_allocator(size):
    return "from RMM", size


@pytest.fixture
def modules(monkeypatch):
    """CuPy after cuDF has been imported; `cupy.allocator` and `rmm.resource` may be set."""
    pool, cupy, rmm, allocators = Pool(), ModuleType("cupy"), ModuleType("rmm"), ModuleType("rmm.allocators.cupy")
    cupy.allocator, rmm.resource = rmm_cupy_allocator, CudaMemoryResource()

    @contextlib.contextmanager
    def using_allocator(allocator):
        before, cupy.allocator = cupy.allocator, allocator
        try:
            yield
        finally:
            cupy.allocator = before

    cupy.cuda = SimpleNamespace(get_allocator=lambda: cupy.allocator, using_allocator=using_allocator)
    cupy.get_default_memory_pool = lambda: pool
    rmm.mr = SimpleNamespace(CudaMemoryResource=CudaMemoryResource, get_current_device_resource=lambda: rmm.resource)
    allocators.rmm_cupy_allocator = rmm_cupy_allocator
    for name, module in (
        ("cupy", cupy),
        ("rmm", rmm),
        ("rmm.allocators", ModuleType("rmm.allocators")),
        ("rmm.allocators.cupy", allocators),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    return SimpleNamespace(cupy=cupy, rmm=rmm, pool=pool)


def test_memory_comes_from_cupys_pool_where_rmm_has_none(modules):
    with from_a_pool():
        assert modules.cupy.allocator(7) == ("from the pool", 7)
        with from_a_pool():
            assert modules.cupy.allocator(7) == ("from the pool", 7)
        assert modules.cupy.allocator(7) == ("from the pool", 7)
    assert modules.cupy.allocator(7) == ("from RMM", 7)


@pytest.mark.parametrize("case", ["a pool", "another allocator", "no RMM"])
def test_what_the_caller_has_chosen_is_used(modules, monkeypatch, case):
    if case == "a pool":
        modules.rmm.resource = PoolMemoryResource()
    elif case == "another allocator":
        modules.cupy.allocator = lambda size: ("from another one", size)
    else:
        monkeypatch.delitem(sys.modules, "rmm")
    before = modules.cupy.allocator
    with from_a_pool():
        assert modules.cupy.allocator is before
    assert modules.pool.given_back == []


def test_much_memory_is_given_back_when_no_thread_takes_any(modules):
    with from_a_pool():
        modules.pool.free = device_memory.KEPT_BYTES + 1
        with from_a_pool():
            pass
        assert modules.pool.given_back == []
    assert modules.pool.given_back == [device_memory.KEPT_BYTES + 1]


def test_little_memory_is_kept(modules):
    with from_a_pool():
        modules.pool.free = device_memory.KEPT_BYTES
    assert modules.pool.given_back == []


def test_nothing_is_given_back_while_another_thread_takes_memory(modules):
    with contextlib.ExitStack() as other:
        with from_a_pool():
            modules.cupy.allocator = rmm_cupy_allocator  # allocators are of a thread: this is what another one sees
            other.enter_context(from_a_pool())
            modules.pool.free = device_memory.KEPT_BYTES + 1
        assert modules.pool.given_back == []
    assert len(modules.pool.given_back) == 1


def test_nothing_is_given_back_while_a_launch_goes_on(modules, monkeypatch):
    """Whoever began it would wait for it, and nobody would stop it."""
    asked = []
    monkeypatch.setattr(modules.pool, "free_bytes", lambda: asked.append("free") or modules.pool.free)
    launch, modules.pool.free = Launch(), device_memory.KEPT_BYTES + 1
    with from_a_pool():
        keep_memory_during(launch)
    assert modules.pool.given_back == []
    assert not asked  # the pool is locked while another thread gives memory back, which waits for the launch
    launch.ended = True
    with from_a_pool():
        pass
    assert len(modules.pool.given_back) == 1


def test_factors_give_nothing_back_while_a_launch_goes_on(modules):
    launch, waited = Launch(), []
    factors = object.__new__(CudaFactors)
    factors.xp, factors._device = modules.cupy, contextlib.nullcontext()
    stream = SimpleNamespace(synchronize=lambda: waited.append("for its operations"))
    factors._streams = SimpleNamespace(all=[stream])
    with from_a_pool():
        keep_memory_during(launch)
    factors.end()
    assert (len(waited), modules.pool.given_back) == (1, [])
    launch.ended = True
    factors.end()
    assert (len(waited), len(modules.pool.given_back)) == (2, 1)


def test_a_launch_that_nobody_has_any_more_is_forgotten(modules):
    launch, modules.pool.free = Launch(), device_memory.KEPT_BYTES + 1
    with from_a_pool():
        keep_memory_during(launch)
    del launch
    with from_a_pool():
        pass
    assert len(modules.pool.given_back) == 1


def test_each_thread_has_a_stream_whose_operations_are_over_when_it_leaves():
    made, over = [], []

    class Stream(contextlib.nullcontext):
        def __init__(self, non_blocking, priority):
            super().__init__()
            assert priority < 0
            made.append(non_blocking)

        def synchronize(self):
            over.append(self)

    streams = _Streams(SimpleNamespace(cuda=SimpleNamespace(Device=contextlib.nullcontext, Stream=Stream)), 0)
    with streams.one(), streams.one():
        assert over == []
    assert over == streams.all[::-1]
    with pytest.raises(InterruptedError), streams.one():
        raise InterruptedError
    with streams.one(), streams.one():
        assert made == [True, True]  # kept for others
