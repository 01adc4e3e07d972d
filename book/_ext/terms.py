"""The glossary, made from book/terms.yml.

    ```{glossary-terms}
    ```

Each entry ends with its chapter and a link to its page. Entries that were renamed keep their
earlier anchors. A list that cannot be used is an error with the file, the term and the fix.
"""

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_id


def markdown(terms) -> list[str]:
    """The lines of a glossary directive with all terms, aliases under the term that they name."""
    lines = ["```{glossary}"]
    for term in terms:
        lines += [term.term, *term.aliases]
        lines += [f"  {term.definition} Chapter {term.chapter}: [](/{term.page}.md)", ""]
    return [*lines[:-1], "```"]


class GlossaryTerms(SphinxDirective):
    """`{glossary-terms}`: all terms of book/terms.yml."""

    def run(self) -> list[nodes.Node]:
        """The glossary, and the anchors of earlier names on the entries that have them."""
        from course.book.terms import TermsError, load_terms

        path = Path(self.env.srcdir, "terms.yml")
        self.env.note_dependency(str(path))
        try:
            terms = load_terms(path).terms
        except TermsError as error:
            raise self.error(str(error)) from error
        container = nodes.Element()
        self.state.nested_parse(StringList(markdown(terms), str(path)), 0, container)
        shown = {node.astext(): node for node in container.findall(nodes.term)}
        for term in terms:
            for name in term.formerly:
                node = shown[term.term]
                anchor = make_id(self.env, self.state.document, "term", name)
                if anchor not in node["ids"]:
                    node["ids"].append(anchor)
        return container.children


def setup(app):
    """Add the directive."""
    app.add_directive("glossary-terms", GlossaryTerms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
