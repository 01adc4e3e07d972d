"""The directives {lab} and {lab-end}: a measurement of our own, folded below its title.

    ```{lab} How peaked is a random softmax?
    The largest of 32 weights, for three scalings and three dimensions.
    ```

    Paragraphs, tables and code cells of the lab.

    ```{lab-end}
    ```

Code cells cannot stand inside a directive, hence two of them. What lies between becomes the body of
one <details class="lab">, which opens without a script. It holds no heading: a heading would begin
a new section of the page. Links to #lab-TITLE and results of the search open it (course.js).
The sentence holds no link: it stands inside the button that opens the lab.
"""

import search_texts
from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LINKS = (nodes.reference, addnodes.pending_xref)


class Lab(nodes.container):
    """One lab. It is a container, so that the search counts its words apart from its section's."""


class LabSummary(nodes.General, nodes.TextElement):
    """What a closed lab shows: its title, and in one sentence what was measured."""


class LabEnd(nodes.General, nodes.Element):
    """Where a lab ends, until `fold` has moved what lies before it."""


class LabDirective(SphinxDirective):
    """{lab} TITLE: opens a lab; the directive's body says in one sentence what was measured."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        if not self.content:
            raise self.error("{lab}: say in one sentence what was measured")
        title, messages = self.state.inline_text(self.arguments[0], self.lineno)
        about = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, about)
        if len(about) != 1 or not isinstance(about[0], nodes.paragraph):
            raise self.error("{lab}: its body is one paragraph; the lab stands below it")
        if any(about.findall(lambda one: isinstance(one, LINKS))):
            raise self.error("{lab}: its body holds a link; put the link into the lab below it")
        summary = LabSummary("", "", nodes.inline("", "", *title, classes=["lab-title"]))
        summary += nodes.inline("", "", *about[0].children, classes=["lab-about"])
        lab = Lab("", summary, w2s_title="".join(part.astext() for part in title))
        self.set_source_info(lab)
        self.set_source_info(summary)
        return [lab, *messages]


class LabEndDirective(SphinxDirective):
    """{lab-end}: closes the lab that was opened last."""

    def run(self):
        end = LabEnd()
        self.set_source_info(end)
        return [end]


def fold(app, doctree):
    """Move what stands between {lab} and {lab-end} into the lab, and give each lab an id."""
    taken = set(doctree.ids)
    for lab in list(doctree.findall(Lab)):
        name = nodes.make_id(f"lab-{lab['w2s_title']}")
        number = 1 + sum(one.split("--")[0] == name for one in taken)
        name += f"--{number}" if name in taken else ""
        taken.add(name)
        lab["ids"].append(name)
        body = _between(lab)
        if body is None:
            _warn(lab, f"the lab {lab['w2s_title']!r} has no {{lab-end}} in its section")
            continue
        for node in body:
            node.parent.remove(node)
            lab += node
    for end in list(doctree.findall(LabEnd)):
        if not end.get("w2s_used"):
            _warn(end, "a {lab-end} closes no lab")
        end.parent.remove(end)


def _between(lab):
    """The siblings from a lab to its end, or None where it has none."""
    after = lab.parent.children[lab.parent.index(lab) + 1 :]
    body = []
    for node in after:
        if isinstance(node, LabEnd):
            node["w2s_used"] = True
            return body
        if isinstance(node, (Lab, nodes.section)):
            return None
        body.append(node)
    return None


def _warn(node, text):
    logging.getLogger(__name__).warning(text, location=node, type="w2s", subtype="lab")


def add_to_search(app, doctree):
    """An entry of the search for each lab, which leads to the lab and so opens it."""
    entries = app.env.w2s_sections[app.env.docname]
    page = next((title.astext() for title in doctree.findall(nodes.title)), "")
    for lab in doctree.findall(Lab):
        title, about = lab[0].children
        words = " ".join(search_texts._words(part) for part in (about, *lab[1:]))
        address = f"{app.env.docname}.html#{lab['ids'][0]}"
        entries.append((address, lab["w2s_title"], page, " ".join(words.split())))


def visit_lab(self, node):
    """The opening tag of a lab."""
    self.body.append(self.starttag(node, "details", CLASS="lab"))


def depart_lab(self, node):
    """The end of a lab, and of the box round its body."""
    self.body.append("</div></details>\n")


def visit_summary(self, node):
    """The line that opens a lab."""
    self.body.append('<summary><span class="lab-kind">Lab</span> ')


def depart_summary(self, node):
    """The end of the line, and the beginning of what it opens."""
    self.body.append('</summary><div class="lab-body">\n')


def setup(app):
    """Register the directives; labs are folded before the search reads a page."""
    app.add_node(Lab, html=(visit_lab, depart_lab))
    app.add_node(LabSummary, html=(visit_summary, depart_summary))
    app.add_node(LabEnd)
    app.add_directive("lab", LabDirective)
    app.add_directive("lab-end", LabEndDirective)
    app.connect("doctree-read", fold, priority=300)
    app.connect("doctree-read", add_to_search, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
