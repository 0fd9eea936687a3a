"""The page of the Python package, from its sources: Python's own parser knows what is public, the docstrings say what it does."""
import ast
import html
import re

from documents import code_block
from website import ROOT, Page, coded

MODULES = ("medgrad", "medgrad.theory", "medgrad.torch")


def module_file(name):
    path = ROOT / "python" / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def definitions(tree):
    return {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def public(name):
    """(name, definition) of everything public in a module of ours, wherever it is defined; None where that is the extension."""
    tree = ast.parse(module_file(name).read_text(encoding="utf-8"))
    here, listed = definitions(tree), []
    package = name if module_file(name).name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign)) and "__all__" in ast.unparse(node).split()[:1]:
            listed += ast.literal_eval(node.value)
        elif isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            inner = definitions(ast.parse(module_file(f"{package}.{node.module}").read_text(encoding="utf-8")))
            here.update({alias.name: inner[alias.name] for alias in node.names if alias.name in inner})
    names = [one for one in listed or here if not one.startswith("_") and f"{name}.{one}" not in MODULES]
    return [(one, here.get(one)) for one in names]


def docstring(node):
    """The text of a definition as HTML: paragraphs, and examples as code."""
    blocks = []
    for part in re.split(r"\n\n+", ast.get_docstring(node) or ""):
        if part.startswith((">>>", "    ")):
            blocks.append(code_block(part + "\n", "pycon" if part.startswith(">>>") else "text"))
        elif part:
            blocks.append(f"<p>{coded(part)}</p>")
    return "".join(blocks)


def heading(level, anchor, name, call):
    """A name, with its arguments where it can be called."""
    arguments = ""
    if call:
        given = re.sub(r"^(self|cls)\b(, )?", "", ast.unparse(call.args))
        arguments = f'<span class="arguments">({html.escape(given)})</span>'
    return f'<h{level} id="{anchor}"><code>{name}{arguments}</code></h{level}>'


def entry(anchor, name, node):
    if node is None:
        return heading(3, anchor, name, None) + "<p>Of the extension: <code>help()</code> says what it is.</p>"
    if isinstance(node, ast.FunctionDef):
        return heading(3, anchor, name, node) + docstring(node)
    inside = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    out = heading(3, anchor, name, next((one for one in inside if one.name == "__init__"), None)) + docstring(node)
    for one in inside:
        if not one.name.startswith("_") and ast.get_docstring(one):
            is_property = any(getattr(mark, "id", "") == "property" for mark in one.decorator_list)
            out += heading(4, f"{anchor}.{one.name}", one.name, None if is_property else one) + docstring(one)
    return out


def add_python(site):
    page = site.add(Page("python-api.html", "Python API", "", group="Reference", summary="Every public name of the Python package"))
    page.body = '<h1>Python API</h1><p class="lead">Every public name of the package, with the text that <code>help()</code> shows.</p>'
    for module in MODULES:
        page.body += f'<h2 id="{module}"><code>{module}</code></h2>'
        page.body += "".join(f'<section class="method">{entry(f"{module}.{name}", name, node)}</section>' for name, node in public(module))
