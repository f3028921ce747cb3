"""The examples in the packages' documentation."""
import doctest
import importlib
import inspect
import pathlib
import pkgutil

import pytest

import nxcc
import nxrt


def modules():
    for package in (nxrt, nxcc):
        yield package.__name__
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith(("_nx", "_inspect")) or module.name == "_inspect_file":
                yield f"{package.__name__}.{module.name}"


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


@pytest.mark.parametrize("package", [nxrt, nxcc])
def test_every_public_object_is_described_and_typed(package):
    for name in package.__all__:
        value = getattr(package, name)
        assert value.__doc__, f"{package.__name__}.{name} has no docstring"
        functions = [value] if inspect.isfunction(value) else [
            member for key, member in vars(value).items()
            if inspect.isfunction(member) and (not key.startswith("_") or key == "__call__")]
        for function in functions:
            assert function.__doc__ or function.__name__ == "__call__", f"{name}.{function.__name__} has no docstring"
            untyped = [p.name for p in inspect.signature(function).parameters.values()
                       if p.annotation is p.empty and p.name != "self"]
            assert not untyped and "return" in function.__annotations__, f"{name}.{function.__name__} has no types"
    folder = pathlib.Path(package.__file__).parent
    assert (folder / "py.typed").exists()
    for stub in folder.glob("*.so"):
        assert (folder / f"{stub.name.split('.')[0]}.pyi").exists()
