"""The terms of the book: the list is read strictly, the glossary is made from it, and a
replaced word is found wherever a student may read it.
"""

import subprocess
import sys

import pytest
import yaml

from course.book.lint import terms as lint
from course.book.terms import OUTSIDE, TermsError, load_terms
from tests.book.conftest import ROOT

GOOD = {
    "revised_chapters": [14],
    "terms": [
        {
            "term": "prefix caching",
            "aliases": ["APC"],
            "chapter": 14,
            "page": "prefix",
            "definition": "Reusing the keys and values of a common prefix.",
            "replaces": ["known beginnings"],
        },
        {
            "term": "draft token",
            "chapter": 14,
            "page": "prefix",
            "definition": "A token that a proposer predicts.",
            "replaces": [{"word": "guess", "pattern": r"\bguess(?:es)?\b", "where": [14]}],
        },
    ],
    "wording": [{"write": "fix", "replaces": [{"word": "mend", "where": "outside"}]}],
}
PAGE = """# Prefix caching

A draft token is something else, and known
beginnings are an old name.

```{admonition} Note
It is a guess.
```

Code such as `known beginnings` and $guess$ is not read.

```{code-cell} python
known = "known beginnings"
picture(known, caption="Two guesses.", alt=f"Known beginnings of {known}.")
claim("a guess", True)
```
"""
QUESTIONS = """quiz:
  - id: guess
    question: What is a
      guess?
"""
STATEMENT = """# %% [markdown] nbgrader={}
# ## 1. A guess
#
# Reuse `guess`.

# %% nbgrader={}
# a guess in a comment
def reuse():
    ...
"""
CHECKS = '''"""A guess in a docstring."""


@one.stage("guess", points=1)
def test_one(student):
    expect(student.reuse()).equals(
        "guess", cause="A known"
        " beginnings' guess."
    )
'''
HELP = """SUMMARY = "mend the book"
print("mend nothing")
parser.add_argument("--x", help=f"what to mend in {mend}")
"""


@pytest.fixture
def book(tmp_path):
    """A course with one chapter, and a function that writes its list and reads it."""
    files = {
        "book/14-paged-attention/prefix.md": PAGE,
        "book/14-paged-attention/questions.yml": QUESTIONS,
        "book/what-you-need.yml": "quiz: []\n",
        "solutions/14-paged-attention.py": STATEMENT,
        "autograder/chapters/c14_paged_attention/test_one.py": CHECKS,
        "course/commands/fixing.py": HELP,
        "README.md": "# Course\n\nMend it. A guess is fine here.\n",
        "CONTRIBUTING.md": "# Contributing\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def load(data=GOOD):
        path = tmp_path / "book" / "terms.yml"
        path.write_text(data if isinstance(data, str) else yaml.safe_dump(data), encoding="utf-8")
        return load_terms(path)

    return tmp_path, load


def changed(entry, **keys):
    """The good list with one term changed; a key of None is left out."""
    terms = [dict(GOOD["terms"][0]), GOOD["terms"][1]]
    terms[entry] = {k: v for k, v in {**terms[entry], **keys}.items() if v is not None}
    return {**GOOD, "terms": terms}


def test_everything_outside_the_chapters_and_all_revised_chapters_use_the_fields_terms():
    assert lint.term_findings(ROOT, load_terms(ROOT / "book" / "terms.yml")) == []


def test_each_forbidden_word_of_a_chapter_is_named_with_file_line_and_better_word(book):
    root, load = book
    assert lint.chapter_findings(root, load(), 14) == [
        "book/14-paged-attention/prefix.md:3: 'known beginnings': write 'prefix caching'",
        "book/14-paged-attention/prefix.md:7: 'guess': write 'draft token'",
        "book/14-paged-attention/prefix.md:14: 'Known beginnings': write 'prefix caching'",
        "book/14-paged-attention/prefix.md:14: 'guesses' (guess): write 'draft token'",
        "book/14-paged-attention/prefix.md:15: 'guess': write 'draft token'",
        "book/14-paged-attention/questions.yml:4: 'guess': write 'draft token'",
        "solutions/14-paged-attention.py:2: 'guess': write 'draft token'",
        "autograder/chapters/c14_paged_attention/test_one.py:4: 'guess': write 'draft token'",
        "autograder/chapters/c14_paged_attention/test_one.py:7: 'known beginnings':"
        " write 'prefix caching'",
        "autograder/chapters/c14_paged_attention/test_one.py:8: 'guess': write 'draft token'",
    ]


def test_outside_the_chapters_a_word_is_forbidden_in_its_own_sense_only(book):
    root, load = book
    terms = load()
    found = [one for prose in lint.outside(root) for one in lint.forbidden_words(prose, terms)]
    assert found == [
        "README.md:3: 'Mend': write 'fix'",
        "course/commands/fixing.py:1: 'mend': write 'fix'",
        "course/commands/fixing.py:3: 'mend': write 'fix'",
    ]


def test_a_word_planted_in_a_real_text_is_found():
    terms = load_terms(ROOT / "book" / "terms.yml")
    for prose in lint.outside(ROOT):
        planted = lint.Prose(prose.name, OUTSIDE, prose.text + "\nIt waits for a person.\n")
        line = planted.text.count("\n")
        assert [
            finding
            for finding in lint.forbidden_words(planted, terms)
            if f":{line}: 'waits for a person'" in finding
        ], prose.name


def test_a_term_of_a_revised_chapter_must_occur_on_its_pages(book):
    root, load = book
    page = root / "book" / "14-paged-attention" / "prefix.md"
    page.write_text("# Caching\n\nDrafts, and `prefix caching`.\n", encoding="utf-8")
    missing = [one for one in lint.chapter_findings(root, load(), 14) if "never use" in one]
    assert [one.split(": ")[1] for one in missing] == ["draft token", "prefix caching"]
    page.write_text("# APC\n\nTwo draft-tokens.\n", encoding="utf-8")
    assert not [one for one in lint.chapter_findings(root, load(), 14) if "never use" in one]


def test_definitions_are_held_to_the_list_as_well(book):
    _, load = book
    terms = load(changed(0, definition="It keeps what you guess."))
    assert lint.definition_findings(terms) == [
        "book/terms.yml: prefix caching: 'guess': write 'draft token'"
    ]


@pytest.mark.parametrize("page", sorted((ROOT / "book").rglob("*.md")), ids=lambda page: page.stem)
def test_what_is_read_of_a_page_keeps_its_lines(page):
    text = page.read_text(encoding="utf-8")
    read = lint.markdown(text)
    assert [len(line) for line in read.split("\n")] == [len(line) for line in text.split("\n")]


@pytest.mark.parametrize(
    "data, said",
    [
        ("terms: [", "is not valid YAML"),
        ({"terms": []}, "write exactly the keys revised_chapters, terms, wording"),
        (changed(0, term=None), "give the entry a `term`"),
        (changed(0, definition=None), "prefix caching: add definition"),
        (changed(0, definition="No stop"), "prefix caching: write the definition as sentences"),
        (changed(0, defintion="A slip."), "prefix caching: defintion has no meaning here"),
        (changed(0, page="known"), "chapter 14 has no page 'known'; choose one of prefix"),
        (changed(0, chapter=18), "there is no chapter 18; use 1 to 17"),
        (changed(0, chapter="14"), "must be given in whole numbers"),
        (changed(0, aliases=[3]), "aliases must be a list of strings"),
        (changed(0, aliases=["Draft token"]), "is also a name of"),
        (changed(0, replaces="a word"), "replaces must be a list of words"),
        (changed(0, replaces=[{"pattern": "x"}]), "replaces nothing; write a word"),
        (changed(0, replaces=[{"word": "x", "where": "inside"}]), "where is 'inside'; use a list"),
        (changed(0, replaces=[{"word": "x", "pattern": "("}]), "is no regular expression"),
        (changed(0, replaces=[{"word": "x", "pattern": "x*"}]), "matches the empty text"),
        ({**GOOD, "revised_chapters": [0]}, "there is no chapter 0"),
        ({**GOOD, "wording": [{"replaces": []}]}, "exactly `write` and `replaces`"),
    ],
)
def test_a_list_that_cannot_be_used_says_what_to_fix(book, data, said):
    _, load = book
    with pytest.raises(TermsError) as raised:
        load(data)
    assert "terms.yml" in str(raised.value) and said in str(raised.value)


def test_a_missing_list_is_named(tmp_path):
    with pytest.raises(TermsError, match="does not exist: restore it"):
        load_terms(tmp_path / "terms.yml")


def test_the_glossary_shows_each_term_with_its_aliases_chapter_and_earlier_anchors(tmp_path):
    source = tmp_path / "book"
    source.mkdir()
    terms = load_terms(ROOT / "book" / "terms.yml").terms
    for page in {term.page for term in terms}:
        (source / page).parent.mkdir(exist_ok=True)
        (source / f"{page}.md").write_text("# Page\n\n{term}`TTFT`\n", encoding="utf-8")
    for name in ("terms.yml", "glossary.md"):
        text = (ROOT / "book" / name).read_text(encoding="utf-8")
        (source / name).write_text(text, encoding="utf-8")
    (source / "index.md").write_text("# Book\n\n```{toctree}\n:glob:\n*\n*/*\n```\n")
    (source / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\n"
        "extensions = ['myst_parser', 'terms']\nmyst_enable_extensions = ['dollarmath']\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-b", "html", source]
    done = subprocess.run([*command, tmp_path / "html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "html" / "glossary.html").read_text(encoding="utf-8")
    for anchor in ("term-prefix-cache", "term-prefix-caching", "term-3CosAdd", "term-quantising"):
        assert f'id="{anchor}"' in html
    assert html.count("<dd>") >= len(terms)
    assert 'href="15-serving-engine/load.html"' in html
