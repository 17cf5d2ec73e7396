"""What a wheel is made of; `make package` builds one by pip and installs it."""
import json
import shutil
import subprocess

import pytest

from conftest import ROOT

tomllib = pytest.importorskip("tomllib", reason="Python before 3.11 has no tomllib")


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_a_wheel_has_the_package_and_the_program(tmp_path):
    """meson-python 0.12 takes all that is installed, so nothing else may be."""
    if shutil.which("meson") is None:
        pytest.skip("meson is not installed")
    arguments = project()["tool"]["meson-python"]["args"]
    assert set(arguments) == {"setup", "compile", "dist", "install"}  # or 0.12 refuses
    subprocess.run(["meson", "setup", tmp_path, ROOT, *arguments["setup"]], check=True, stdout=subprocess.DEVNULL)
    plan = json.loads((tmp_path / "meson-info" / "intro-install_plan.json").read_text())
    places = {entry["destination"] for part in plan.values() for entry in part.values()}
    sources = {path.name for path in (ROOT / "python" / "fedplt").iterdir() if path.suffix in (".py", ".pyi", ".typed")}
    package = {place.rsplit("/", 1)[1] for place in places if "/fedplt/" in place}
    assert package == sources | {"py.typed", "_fedplt.abi3.so", "__init__.pyi"}
    assert [place for place in places if "/fedplt/" not in place] == ["{bindir}/fedplt"]


def test_meson_python_reads_the_project():
    metadata = pytest.importorskip("pyproject_metadata", reason="python3-mesonpy is not installed")
    found = metadata.StandardMetadata.from_pyproject(project(), ROOT)
    assert found.name == "fedplt" and found.dynamic == ["version"]
    assert {str(one) for one in found.dependencies} == {"cffi", "numpy"}
