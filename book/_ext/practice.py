"""Each section names the exercises that practise it, and each exercise the section: both from `see`
in its checks.

`exercise("01.ppmi", ..., see="01-static-embeddings/pmi#pmi-compare-with-chance")` puts a line
at the end of that section, with a link to the exercise's row on the page `exercises` of the
exercise's chapter. A `see` that leads to no section is a warning, so that renaming a heading cannot
cut the thread. Nothing is typed on the page.
"""

from docutils import nodes
from sphinx.util import logging

log = logging.getLogger(__name__)


def exercises_by_page() -> dict[str, list[tuple[str, str]]]:
    """For each page, the (anchor, id) of the exercises that point at it; the anchor is "" for the
    page as a whole.
    """
    from autograder.authoring.catalogue import assignments

    found: dict[str, list[tuple[str, str]]] = {}
    for assignment in assignments():
        for name, exercise in assignment.exercises.items():
            page, _, anchor = exercise.see.partition("#")
            found.setdefault(page, []).append((anchor, name))
    return found


def row_id(exercise: str) -> str:
    """The id of an exercise's row on the page `exercises`."""
    return "exercise-" + exercise.replace(".", "-").replace("_", "-")


def link_sections(app, doctree, docname):
    """Add the line to each section that an exercise points at."""
    if not hasattr(app, "w2s_practice"):
        app.w2s_practice = exercises_by_page()
    tables = {page[:2]: page for page in app.env.found_docs if page.endswith("/exercises")}
    wanted: dict[str, list[str]] = {}
    for anchor, name in app.w2s_practice.get(docname, []):
        # a chapter whose page of exercises is in the book; it may be a later one than the section's
        if name[:2] in tables:
            wanted.setdefault(anchor, []).append(name)
    for anchor, names in wanted.items():
        sections = [
            section
            for section in doctree.findall(nodes.section)
            if anchor in section["ids"] or anchor in section.get("slug", "").split() or not anchor
        ]
        if not sections:
            log.warning(
                f"{docname}: the exercises {', '.join(names)} point at the section #{anchor}, which"
                " is not there",
                type="w2s",
                subtype="practice",
            )
            continue
        place = sections[0] if anchor else sections[-1]
        line = nodes.paragraph(classes=["w2s-practice"])
        line += nodes.strong("", "Practise: ")
        for number, name in enumerate(names):
            line += nodes.Text(", " if number else "")
            line += nodes.reference(
                "",
                "",
                nodes.literal("", name),
                internal=True,
                refuri=f"{app.builder.get_relative_uri(docname, tables[name[:2]])}#{row_id(name)}",
            )
        at = next(
            (k for k, child in enumerate(place.children) if isinstance(child, nodes.section)),
            len(place.children),
        )
        place.insert(at, line)


def setup(app):
    """Add the lines after references are resolved."""
    app.connect("doctree-resolved", link_sections)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
