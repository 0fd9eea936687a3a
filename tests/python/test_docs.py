"""What the package says about itself is true: examples in docstrings, names that are promised, one version."""
import doctest
import importlib
import inspect
import os
import pathlib
import re

import medgrad
import pytest


@pytest.mark.parametrize("name", ["medgrad", "medgrad._aggregate", "medgrad._attack", "medgrad._estimator",
                                  "medgrad._noise", "medgrad._stable", "medgrad.theory", "medgrad.torch._optim", "medgrad.torch._wrap"])
def test_examples(name):
    if name.startswith("medgrad.torch"):
        pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0 and found.attempted > 0


def test_everything_public_is_documented():
    for name in medgrad.__all__:
        assert inspect.getdoc(getattr(medgrad, name)), name
    for name, one in vars(medgrad.theory).items():
        if not name.startswith("_") and inspect.isfunction(one):
            assert inspect.getdoc(one), name
    for kind, entries in medgrad.methods().items():
        for entry in entries:
            assert entry["formula"] and entry["meaning"], (kind, entry["name"])


def test_one_version():
    with open(os.path.join(os.path.dirname(__file__), "../../VERSION"), encoding="utf-8") as file:
        assert medgrad.__version__ == file.readline().strip()


ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCKS = [(str(path.relative_to(ROOT)), block) for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
          for block in re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)]


@pytest.mark.parametrize("document, block", BLOCKS, ids=[document for document, _ in BLOCKS])
def test_the_examples_of_the_documents_run(document, block):
    if "torch" in block:
        pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    exec(compile(block, document, "exec"), {})  # noqa: S102


def test_there_are_examples():
    assert {"README.md", "docs/python.md", "docs/quickstart.md"} <= {document for document, _ in BLOCKS}
