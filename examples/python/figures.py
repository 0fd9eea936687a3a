"""Figures of the tutorials: the same picture on a light page and on a dark one."""
import argparse
import pathlib
import re

THEMES = {"light": ("#ffffff", "#222222", "#dddddd"), "dark": ("#0d1117", "#e6edf3", "#30363d")}


def options(description, **numbers):
    """The options of a tutorial: --figures FOLDER, and numbers that a test makes smaller."""
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument("--figures", type=pathlib.Path, metavar="FOLDER", help="draw the figure into this folder (matplotlib)")
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()


def colours():
    """Of every method, on a light page and on a dark one: those of the report."""
    palette = pathlib.Path(__file__).parents[2] / "src/lab/report/palette.cc"
    lines = re.findall(r'Look\{"([^"]+)", "(#\w{6})", "(#\w{6})"', palette.read_text(encoding="utf-8"))
    return {"truth": ("#666666", "#aaaaaa"), **{name: (light, dark) for name, light, dark in lines}}


def draw(folder, name, plot, size=(7.2, 3.2)):
    """Writes NAME-light.svg and NAME-dark.svg; plot(figure, colour) draws, colour("vclip") gives the colour of the theme."""
    if folder is None:
        return
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    folder.mkdir(parents=True, exist_ok=True)
    known = colours()
    for index, (theme, (paper, ink, grid)) in enumerate(THEMES.items()):
        style = {"figure.facecolor": paper, "axes.facecolor": paper, "savefig.facecolor": paper, "text.color": ink,
                 "axes.edgecolor": grid, "axes.labelcolor": ink, "xtick.color": ink, "ytick.color": ink, "grid.color": grid,
                 "axes.grid": True, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
                 "font.size": 9, "svg.fonttype": "none", "svg.hashsalt": name, "path.simplify": True}
        with pyplot.rc_context(style):
            figure = pyplot.figure(figsize=size, layout="constrained")
            plot(figure, lambda key, index=index: known[key][index])
            figure.savefig(folder / f"{name}-{theme}.svg", metadata={"Date": None, "Creator": None})
            pyplot.close(figure)
