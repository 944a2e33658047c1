"""The package as it is installed."""

import ast
import inspect
import zlib
from importlib import metadata
from pathlib import Path

import pytest

import cangate
from cangate import _core

FOLDER = Path(cangate.__file__).parent


def test_the_package_has_types():
    assert (FOLDER / "py.typed").exists()
    assert metadata.version("cangate") == cangate.__version__


def test_the_stubs_name_all_of_the_extension_module():
    stubs = ast.parse((FOLDER / "_core.pyi").read_text(encoding="utf-8"))
    functions = {node.name for node in stubs.body if isinstance(node, ast.FunctionDef)}
    classes = {
        node.name: {f.name for f in node.body if isinstance(f, ast.FunctionDef)} - {"__new__"}
        for node in stubs.body
        if isinstance(node, ast.ClassDef)
    }
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == functions | set(classes)
    for name, methods in classes.items():
        if name == "StationError":
            continue
        real = {m for m in vars(getattr(_core, name)) if not m.startswith("_")}
        assert real == methods, name


def test_each_public_name_has_a_description():
    from cangate import can as interface

    for name in cangate.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(cangate, name)), name
    for name, member in vars(interface.CangateBus).items():
        if not name.startswith("_") and callable(member):
            assert inspect.getdoc(member), name


def test_python_can_finds_the_interface():
    pytest.importorskip("can")
    points = metadata.entry_points(group="can.interface")
    (point,) = [point for point in points if point.name == "cangate"]
    from cangate.can import CangateBus

    assert point.load() is CangateBus


def test_the_package_is_small():
    (module,) = [path for path in FOLDER.glob("_core*") if path.suffix in (".so", ".pyd")]
    data = module.read_bytes()
    if len(data) > 8 << 20:
        pytest.skip("the extension module is a debug build")
    assert len(zlib.compress(data, 9)) < 2 << 20
