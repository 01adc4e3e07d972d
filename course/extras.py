"""Which extra of the package a command needs, and what to say where that is not installed.

`pip install word2serve` brings what students need. The other packages come with the extras of
pyproject.toml, all of them with `make course`.
"""

from importlib.util import find_spec

from autograder.common.course_files import IN_WHEEL

# By extra, one of its packages for each that other packages do not bring along.
MODULES = {
    "book": ("jupyter_book", "sphinx", "myst_nb", "matplotlib", "yaml", "quickjs", "genanki"),
    "grade": ("nbgrader", "jupyterlab", "jupytext", "copydetect"),
    "serve": ("fastapi", "uvicorn", "prometheus_client", "llguidance"),
}
GRADE = (
    "author autograde collect due export formgrader generate-assignment grade regrade"
    " release-assignment release-feedback report return similar worker"
)
COMMANDS = dict.fromkeys(GRADE.split(), "grade") | {
    "make": "book",
    "book": "book",
    "serve": "serve",
}
NOTEBOOKS = {"15": "serve"}  # whose last part is a server
# They also read the solutions or the book's pages, which no wheel holds.
OF_A_CLONE = {
    *("author", "autograde", "book", "doctor", "generate-assignment", "grade", "make"),
    *("regrade", "release-assignment", "worker"),
}


def is_there(extra: str) -> bool:
    """Whether the packages of an extra are installed; none is imported."""
    return all(find_spec(name) is not None for name in MODULES[extra])


def missing(command: str) -> str:
    """What a command lacks and how to install it, as one sentence; "" if it can run."""
    extra = COMMANDS.get(command, "")
    if IN_WHEEL and command in OF_A_CLONE:
        with_extra = f" with the extra [{extra}]" if extra else ""
        return (
            f"it needs a clone of the course{with_extra}, where `make course` installs everything"
        )
    return how_to_install(extra) if extra and not is_there(extra) else ""


def how_to_install(extra: str) -> str:
    """ "it needs the extra [serve]: pip install 'word2serve[serve]'"."""
    package = "word2serve" if IN_WHEEL else "-e ."
    return f"it needs the extra [{extra}]: pip install '{package}[{extra}]'"


def of_module(name: str | None) -> str:
    """The extra that brings a module, or ""."""
    top = (name or "").partition(".")[0]
    return next((extra for extra, modules in MODULES.items() if top in modules), "")
