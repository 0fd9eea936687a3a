"""The tutorials run, and what they say holds: each asserts it itself."""
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples/python"
SMALLER = {"1": ["--seeds", "3"], "2": ["--steps", "600"], "4": ["--batches", "150"], "5": ["--points", "5"]}
SCRIPTS = sorted(FOLDER.glob("[0-9]_*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_tutorial(script, tmp_path):
    if "torch" in script.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    figures = []
    if script.stem.startswith("3"):  # one of them, for the sake of time
        pytest.importorskip("matplotlib", reason="matplotlib is not installed (python3-matplotlib)")
        figures = ["--figures", str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, str(script), *SMALLER.get(script.stem[0], []), *figures], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 0 and done.stdout, done.stderr
    if figures:
        for theme in ("light", "dark"):
            assert "<svg" in (tmp_path / f"tutorial-{script.stem[0]}-{theme}.svg").read_text(encoding="utf-8")


def test_there_are_five_with_figures_in_the_documents():
    page = (FOLDER.parents[1] / "docs/tutorials.md").read_text(encoding="utf-8")
    assert [script.stem[0] for script in SCRIPTS] == ["1", "2", "3", "4", "5"]
    for script in SCRIPTS:
        assert script.name in page
        for theme in ("light", "dark"):
            name = f"images/tutorial-{script.stem[0]}-{theme}.svg"
            assert name in page and (FOLDER.parents[1] / "docs" / name).is_file()
