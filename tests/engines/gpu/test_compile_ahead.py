"""Kernels are compiled by other processes, each once, for a GPU that need not be there, before they are launched."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import time
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import test_gpu_tables
from numba import typeof, types
from targets import emulator, one_lane
from typer.testing import CliRunner

import cusubmatch as csm
from cusubmatch.cli.app import app
from cusubmatch.engines import registry
from cusubmatch.engines.compile import compile_ahead
from cusubmatch.engines.compile.compile_ahead import AHEAD, MAYBE, NOW, CompileServer, start_where_nothing_is
from cusubmatch.engines.compile.compile_order import Order, decode, encode
from cusubmatch.engines.gpu import GpuEngine, expected_kernels
from cusubmatch.engines.gpu.all_kernels import all_kernels, row_kernels, usual_kernels
from cusubmatch.engines.gpu.fill_store import compile_kernels
from cusubmatch.engines.gpu.runtime import kernel_store as stores
from cusubmatch.engines.gpu.runtime.compile_server import most, orders_of
from cusubmatch.engines.gpu.runtime.cuda import gpu
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.kernel_factory import Recipe
from cusubmatch.engines.gpu.runtime.launch_arguments import as_device_array
from cusubmatch.engines.gpu.search.graph_view import make_mark_hubs
from cusubmatch.engines.gpu.tables.table_kernels import LaunchShape
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.gpu.walker.variant import COUNT, Variant
from cusubmatch.engines.gpu.walker.warp_walker import make_walk
from cusubmatch.generators import rmat
from cusubmatch.plan import constraints_of

H200 = (9, 0)
MARK_HUBS = row_kernels(offsets64=False)[0]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store, of this process and of its servers."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compile_ahead, "_servers", {})  # those of before know another folder
    stores.cache_folder.cache_clear()
    yield stores.kernel_store()
    stores.cache_folder.cache_clear()


def path_of(store, kernel, capability=H200):
    return store.path(kernel.recipe, kernel.signature.args, capability)


@pytest.mark.thorough
def test_two_processes_that_need_a_kernel_compile_it_once_and_a_third_loads_it(store, monkeypatch):
    path, servers = path_of(store, MARK_HUBS), [CompileServer(), CompileServer()]
    orders = [
        server.order(MARK_HUBS.recipe, MARK_HUBS.signature.args, H200, path, urgency)
        for server in servers
        for urgency in (1, NOW)
    ]
    assert orders[0] is orders[1]
    files = set()
    for pending in orders:
        pending.wait()
        files.add(path.stat().st_ino)
    assert len(files) == 1
    from numba.cuda import dispatcher

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=H200))
    stored = stores.StoredKernels(store, SimpleNamespace(recipe=MARK_HUBS.recipe))
    compiled = stored.load_overload(MARK_HUBS.signature, None)
    assert compiled.entry_name
    (code,) = compiled._codelibrary._cubin_cache.values()
    assert bytes(code.code[:4]) == b"\x7fELF"
    path.write_bytes(path.read_bytes()[:100])  # damaged
    assert stored.load_overload(MARK_HUBS.signature, None) is None


@pytest.fixture
def h200(monkeypatch):
    """A GPU that is not there, as far as a compiler asks for it."""
    import numba.cuda as numba_cuda
    from numba.cuda import dispatcher

    device = SimpleNamespace(id=0, compute_capability=H200)
    monkeypatch.setattr(numba_cuda, "get_current_device", lambda: device)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: device)
    monkeypatch.setattr(numba_cuda, "gpus", [contextlib.nullcontext()])


@pytest.mark.thorough
@pytest.mark.usefixtures("store", "h200")
def test_a_launch_loads_the_kernel_that_was_ordered_before_it():
    target = gpu.__wrapped__()
    kernel, other = row_kernels(offsets64=False)
    target.ahead([kernel, other])
    compiled = kernel.recipe.make(target).compiled
    made = compiled.compile(tuple(kernel.signature.args))
    assert made._codelibrary._cubin_cache
    assert compiled.compile(tuple(kernel.signature.args)) is made
    assert not compiled._can_compile or len(compiled.overloads) == 1
    again = kernel.recipe.make(gpu.__wrapped__()).compiled
    assert again.compile(tuple(kernel.signature.args)).entry_name == made.entry_name  # loaded, not compiled


@pytest.mark.thorough
@pytest.mark.usefixtures("h200")
def test_where_nobody_else_compiles_a_launch_does(store, monkeypatch):
    from numba.cuda import codegen
    from numba.cuda.cudadrv import devices

    monkeypatch.setattr(CompileServer, "_started", lambda _server: False)
    monkeypatch.setattr(
        devices, "get_context", lambda *_: SimpleNamespace(device=SimpleNamespace(compute_capability=H200))
    )
    monkeypatch.setattr(
        codegen.CUDACodeLibrary,
        "get_cufunc",
        lambda library: library.get_cubin() and SimpleNamespace(module=SimpleNamespace(initialized=True)),
    )
    compiled = MARK_HUBS.recipe.make(gpu.__wrapped__()).compiled
    made = compiled.compile(tuple(MARK_HUBS.signature.args))
    path = path_of(store, MARK_HUBS)
    assert path.exists()
    assert pickle.loads(path.read_bytes())["name"] == made.entry_name


@pytest.mark.thorough
def test_what_the_store_has_is_not_compiled_again(store):
    done = []
    kernels = row_kernels(offsets64=True)
    assert compile_kernels([H200], lambda *so_far: done.append(so_far), kernels) == 2
    assert done == [(0.0, 0), (0.5, 1)]
    assert all(path_of(store, kernel).exists() for kernel in kernels)
    assert compile_kernels([H200], None, kernels) == 0
    assert not path_of(store, kernels[0], (8, 0)).exists()
    assert not store.is_empty()


@pytest.mark.slow
def test_warm_up_compiles_every_kernel_for_a_gpu_that_is_not_there(store):
    done = CliRunner().invoke(app, ["warm-up", "--arch", "sm_80", "--no-cpu"], catch_exceptions=False)
    every = [kernel for _, kernel in all_kernels()]
    assert done.stdout == f"{len(every)} kernels compiled for sm_80\n"
    assert all(path_of(store, kernel, (8, 0)).exists() for kernel in every)


@pytest.mark.parametrize("name", ["h100", "sm_9", "90", "sm_90a"])
def test_an_architecture_has_a_name_of_nvidias(name):
    done = CliRunner().invoke(app, ["warm-up", "--arch", name], catch_exceptions=False)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "--arch: expected a name such as sm_90" in done.stderr


def test_where_no_server_can_be_started_nobody_waits_for_one(store, monkeypatch, tmp_path):
    order = MARK_HUBS.recipe, MARK_HUBS.signature.args, H200, path_of(store, MARK_HUBS)
    with patch.object(sys, "executable", str(tmp_path / "no python")):
        assert CompileServer().order(*order) is None
    ended = CompileServer()
    with patch.object(sys, "executable", "/bin/true"):
        if pending := ended.order(*order):
            pending.wait()
        while ended._process is not None:  # until its reader has seen the end
            os.sched_yield()
        assert ended.order(*order) is None  # and no other is started
        idle = CompileServer()
        assert idle.start()
        while idle._process is not None:
            os.sched_yield()
        assert idle.start()  # it was not needed for a while
    monkeypatch.delattr(os, "fork")
    assert not CompileServer().start()


def test_a_recipe_is_the_same_however_its_arguments_are_given_and_makes_the_kernel():
    recipe = make_walk.recipe(Variant(32, False, COUNT))
    assert recipe == make_walk.recipe(variant=Variant(np.int64(32), np.bool_(False), COUNT))
    assert repr(recipe) == repr(make_walk.recipe(Variant(np.int64(32), np.bool_(False), COUNT)))
    assert make_mark_hubs.recipe(True) == Recipe(make_mark_hubs.__module__, "make_mark_hubs", (True,))
    order = Order(1, 2, recipe, MARK_HUBS.signature.args, H200)
    assert decode(encode(order)) == order
    kernel = recipe.make(gpu())
    assert kernel.recipe == recipe


def test_kernels_have_different_recipes():
    recipes = [(repr(kernel.recipe), kernel.signature) for _, kernel in all_kernels()]
    assert len(set(recipes)) == len(recipes)


class Input:
    """An array as a GPU's kernel is given it, as far as its type goes."""

    def __init__(self, array):
        self._numba_type_ = typeof(array)


def on_gpu(argument):
    """An argument of a launch as a GPU's kernel is given it."""
    if isinstance(argument, tuple):
        fields = map(on_gpu, argument)
        return as_device_array(type(argument)(*fields) if hasattr(argument, "_fields") else tuple(fields))
    return Input(argument) if isinstance(argument, np.ndarray) else argument


def type_on_gpu(argument):
    """The type by which Numba looks for compiled code."""
    given = on_gpu(argument)
    if isinstance(given, tuple) and not hasattr(given, "_fields"):
        return types.BaseTuple.from_types(tuple(map(type_on_gpu, argument)))
    return getattr(given, "_numba_type_", None) or typeof(given)


class Spied:
    """A kernel of the emulator that notes what it is launched with."""

    recipe = None

    def __init__(self, kernel, launched):
        self.kernel, self.launched = kernel, launched

    def __getitem__(self, shape):
        def launch(*arguments):
            self.launched.append((self.recipe, tuple(map(type_on_gpu, arguments))))
            self.kernel[shape](*arguments)

        return launch


@pytest.fixture
def call(monkeypatch):
    """Call a public function on the emulated GPU engine: kernels that were ordered, and what was launched."""
    machine, ordered, launched = emulator(0), [], []
    target = machine._replace(kernel=lambda function: Spied(machine.kernel(function), launched), ahead=ordered.extend)
    engine = GpuEngine(Device(target, 1, 228 << 10, tunables=Tunables(grid=(1, 1))))
    monkeypatch.setattr(registry, "engine_named", lambda _name: engine)
    monkeypatch.setattr(registry, "missing_for_gpu", lambda: None)
    monkeypatch.setattr(GpuEngine, "place", lambda _engine, graph: graph)
    monkeypatch.setattr(expected_kernels, "number_of_processes", lambda: expected_kernels.PROCESSES_TO_SPARE)

    def run(function, *arguments, **options):
        function(*arguments, engine="gpu", **options)
        return ordered, launched

    return run


CALLS = {
    "triangle": (csm.count_matches, "(a)--(b)--(c)--(a)"),
    "4-clique": (csm.count_matches, "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)"),
    "wheel": (csm.count_matches, "(h)--(a)--(b)--(c)--(d)--(a), (b)--(h)--(c), (d)--(h)"),
    "rows": (csm.subgraph_match, "(a)--(b)--(c)--(d)--(a)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_orders_what_it_launches_with_the_types_that_it_launches_it_with(name, call):
    function, pattern = CALLS[name]
    graph = csm.Graph.from_edgelist(rmat(4, 4, seed=2))
    ordered, launched = call(function, graph, pattern)
    known = {(kernel.recipe, tuple(kernel.signature.args)) for kernel in ordered}
    assert launched
    assert set(launched) <= known
    assert known <= {(kernel.recipe, tuple(kernel.signature.args)) for _, kernel in all_kernels()}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["tables", "filters"])
def test_what_is_launched_later_has_the_types_that_are_declared(name):
    machine, launched = one_lane(), []
    target = machine._replace(kernel=lambda function: Spied(machine.kernel(function), launched))
    if name == "tables":
        support = test_gpu_tables.support(9)
        kernels = test_gpu_tables.both(support, target, LaunchShape(window=50))
        for how, prime in (("ones", 0), ("small", 0)):
            test_gpu_tables.all_kernels(*kernels, how, prime)
    else:
        vertices = pd.DataFrame({"vertex": range(64), "label": [i % 2 for i in range(64)]})
        graph = csm.Graph.from_edgelist(rmat(6, 4, seed=2), vertices=vertices, vertex_label="label")
        pattern = csm.Pattern([(0, 1), (1, 2), (2, 3)], labels={0: 0, 1: 1, 2: 0})
        GpuEngine(Device(target, 1, 228 << 10)).prepare(
            graph, pattern, constraints_of(pattern, graph, "monomorphism"), True
        )
    declared = {(kernel.recipe.name, tuple(kernel.signature.args)) for _, kernel in all_kernels()}
    found = {(recipe.name, types) for recipe, types in launched}
    assert len(found) > 2
    assert found <= declared


def test_what_may_be_launched_leaves_some_processes_to_what_will_be():
    orders = [Order(urgency, 0, MARK_HUBS.recipe, (), H200) for urgency in (NOW, AHEAD, MAYBE)]
    assert [most(16, order) for order in orders] == [16, 16, 12]
    assert most(1, orders[-1]) == 1


def test_the_server_starts_at_once_where_nothing_is_compiled_and_only_there(store, monkeypatch):
    started = []
    monkeypatch.setattr(CompileServer, "start", lambda _server, usual_for: started.append(usual_for) or True)
    start_where_nothing_is(H200)
    assert started == [H200]
    path_of(store, MARK_HUBS).touch()
    start_where_nothing_is(H200)
    assert started == [H200]


@pytest.mark.thorough
def test_a_server_that_nobody_has_ordered_anything_of_compiles_what_most_calls_need(store, monkeypatch):
    usual = usual_kernels(offsets64=False)
    assert set(map(repr, usual)) <= {repr(kernel) for _, kernel in all_kernels()}
    orders = orders_of(usual, H200)
    assert orders == sorted(orders)
    assert [order.recipe for order in orders] == [kernel.recipe for kernel in usual]
    monkeypatch.setattr(compile_ahead, "number_of_processes", lambda: compile_ahead.PROCESSES_TO_SPARE)
    server = CompileServer()
    assert server.start(H200)
    group = os.getpgid(server._process.pid)
    try:
        while not any(path_of(store, kernel).exists() for kernel in usual):
            assert server._process is not None
            time.sleep(0.1)
    finally:
        os.killpg(group, signal.SIGKILL)  # the walkers take longer
