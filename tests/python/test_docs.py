"""What the package says about itself is true: examples in docstrings, names that are promised, one version."""
import doctest
import importlib
import inspect
import os

import medgrad
import pytest


@pytest.mark.parametrize("name", ["medgrad", "medgrad._aggregate", "medgrad._attack", "medgrad._estimator",
                                  "medgrad._stable", "medgrad.theory", "medgrad.torch._optim", "medgrad.torch._wrap"])
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


def test_the_examples_of_the_documents_run():
    import re
    for document in ("README.md", "docs/python.md"):
        with open(os.path.join(os.path.dirname(__file__), "../..", document), encoding="utf-8") as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
        assert blocks, document
        for block in blocks:
            if "torch" in block:
                pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
            exec(compile(block, document, "exec"), {})  # noqa: S102
