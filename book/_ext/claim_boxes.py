"""The label of a box that judges a claim, as a Sphinx extension.

    :::{admonition} Claim 16. "RoPE makes the score depend on the distance only."
    :class: claim

A reader of one page has never seen a list of claims, so the title begins with "Common claim,
tested". Where the claim has a number, "no. 16" follows and leads to its row in chapter 16's list.
`course.book.review.ledger` reads number and sentence from the built page.
"""

import re

from docutils import nodes

NUMBERED = re.compile(r"Claim (?P<number>\d+)(?P<part>[^.]*)\. ")
LEDGER = "16-review/ledger"


def label_boxes(app, doctree, docname):
    """Put the label in front of the claim in each box."""
    ledger = app.builder.get_relative_uri(docname, LEDGER)
    for box in doctree.findall(nodes.admonition):
        if "claim" in box["classes"]:
            label_title(next(iter(box.findall(nodes.title))), ledger)


def label_title(title, ledger):
    """Replace "Claim 16, first half. " at the start of a title by the label and its link."""
    label = nodes.inline("", "Common claim, tested", classes=["claim-label"])
    found = NUMBERED.match(title.astext())
    if found:
        first = next(iter(title.findall(nodes.Text)))
        first.parent.replace(first, nodes.Text(first.astext()[found.end() :]))
        label += nodes.Text(": ")
        label += nodes.reference(
            "", f"no. {found['number']}", refuri=f"{ledger}#claim-{found['number']}", internal=True
        )
        label += nodes.Text(found["part"])
    title.insert(0, [label, nodes.Text(" ")])


def setup(app):
    """After all references are resolved, so that marks and links of the page are as they were."""
    app.connect("doctree-resolved", label_boxes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
