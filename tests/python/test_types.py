"""The types that checkers and editors see are those of what runs."""
import ast
import inspect
import pathlib

import medgrad
import pytest

STUB = pathlib.Path(medgrad.__file__).with_suffix(".pyi")


def stubs():
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    yield f"{node.name}.{member.name}", member


def found(name):
    place = medgrad
    for part in name.split("."):
        place = getattr(place, part)
    return place


@pytest.mark.parametrize("name, node", [pytest.param(*stub, id=stub[0]) for stub in stubs()])
def test_stubs_have_the_arguments_of_the_functions(name, node):
    target = found(name)
    if isinstance(target, property):
        assert any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)
        return
    arguments = [argument.arg for argument in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
    arguments = arguments[1:] if arguments[:1] == ["cls"] else arguments  # a bound method shows no cls
    assert arguments == [one.name for one in inspect.signature(target).parameters.values()
                         if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def test_everything_public_has_a_stub():
    names = {name.split(".")[0] for name, _ in stubs()}
    assert {name for name in medgrad.__all__ if name != "theory"} == names
    for kind in (medgrad.Estimator, medgrad.Stable):
        public = {f"{kind.__name__}.{name}" for name in vars(kind) if not name.startswith("_")}
        assert public <= {name for name, _ in stubs()}


def test_what_is_for_pytorch_says_its_types():
    pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    import medgrad.torch as mt

    def missing(function):
        signature = inspect.signature(function)
        return [one.name for one in signature.parameters.values() if one.annotation is one.empty and one.name != "self"] + \
            ["its result"] * (signature.return_annotation is signature.empty)

    for name in mt.__all__:
        target = getattr(mt, name)
        if not inspect.isclass(target):
            assert missing(target) == [], name
        elif target.__module__.startswith("medgrad.torch") and name not in ("GradientNoise", "FilteredOptimizer"):
            assert missing(target.__init__) == [], name
        for member, function in vars(target).items() if inspect.isclass(target) else ():
            if inspect.isfunction(function) and not member.startswith("_"):
                assert missing(function) == [], (name, member)
