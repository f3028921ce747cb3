"""What pip installs: the runtime's wheel is built and used, the compiler's is laid out by CMake alone."""
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ("NX_SOURCE", "NX_BUILD"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder,
                    SOURCE / "python" / "nxrt"], check=True)
    (wheel,) = folder.glob("nxrt-*.whl")
    return wheel


def test_the_runtime_alone(wheel, folder, tmp_path):
    names = zipfile.ZipFile(wheel).namelist()
    assert len([name for name in names if name.startswith("nxrt/libnxrt.so")]) == 1
    assert {"nxrt/__init__.py", "nxrt/py.typed", "nxrt/_nxrt.pyi", "nxrt/_inspect.pyi"} <= set(names)
    assert all(name.startswith(("nxrt/", "nxrt-")) for name in names)
    assert wheel.stat().st_size < 2e6
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", tmp_path,
                    wheel], check=True)
    code = (f"import nxrt, numpy as np; assert nxrt.__file__.startswith({str(tmp_path)!r}); "
            f"print(nxrt.load({str(folder / 'mlp.nxe')!r})(np.ones((2, 4), np.float32)).shape, nxrt.__version__); "
            f"assert {str(tmp_path)!r} + '/nxrt/libnxrt.so' in open('/proc/self/maps').read()")
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)}, text=True,
                          capture_output=True)
    assert (done.returncode, done.stdout) == (0, "(2, 3) 0.1.0\n"), done.stderr


def test_the_compilers_layout(folder, tmp_path):
    for package in ("nxrt", "nxcc"):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path, "--component", package], check=True,
                       capture_output=True)
        (tmp_path / package / "__init__.py").write_bytes((SOURCE / "python" / package / package / "__init__.py")
                                                         .read_bytes())
        for module in (SOURCE / "python" / package / package).glob("_*.py"):
            (tmp_path / package / module.name).write_bytes(module.read_bytes())
    assert sorted(path.suffix for path in (tmp_path / "nxcc").glob("_nxcc.*")) == [".pyi", ".so"]
    assert not (tmp_path / "bin").exists() and not (tmp_path / "lib").exists()
    code = (f"import nxcc, numpy as np; assert nxcc.__file__.startswith({str(tmp_path)!r}); "
            f"print(nxcc.compile({str(folder / 'mlp.onnx')!r})(np.ones((2, 4), np.float32)).shape)")
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)}, text=True,
                          capture_output=True)
    assert (done.returncode, done.stdout) == (0, "(2, 3)\n"), done.stderr


def test_an_ordinary_installation_has_no_python(tmp_path):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path], check=True, capture_output=True)
    assert not list(tmp_path.rglob("*.pyi")) and not (tmp_path / "nxrt").exists()
