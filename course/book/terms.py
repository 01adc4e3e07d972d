"""The book's terms: book/terms.yml, read and checked entry by entry.

    terms = load_terms(ROOT / "book" / "terms.yml")
    terms.terms[0].definition            what the glossary says
    terms.replaced                       each word that the text should not use, with the better one
    terms.revised_chapters               the chapters that are held to the list

The glossary page (book/_ext/terms.py) and the test of the words (course/book/lint/terms.py) are
both made from it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

CHAPTERS = range(1, 18)
OUTSIDE = 0  # README, help texts and the book's pages that belong to no chapter
PLACES = {
    "everywhere": frozenset({OUTSIDE, *CHAPTERS}),
    "chapters": frozenset(CHAPTERS),
    "outside": frozenset({OUTSIDE}),
}
KEYS = {"term", "definition", "chapter", "page", "aliases", "formerly", "replaces"}
SPACE = re.compile(r"\(\?<[!=][^)]*\)| ")  # a look-behind as a whole, for its width must stay fixed
REQUIRED = {"term", "definition", "chapter", "page"}


class TermsError(ValueError):
    """A list of terms that cannot be used. The message names the file, the term and the fix."""


@dataclass(frozen=True)
class Replaced:
    """A word that the text should not use: how it is found, where, and what to write instead."""

    word: str
    pattern: re.Pattern[str]
    chapters: frozenset[int]  # OUTSIDE among them: what lies outside the chapters as well
    write: str


@dataclass(frozen=True)
class Term:
    """A glossary entry. `page` is relative to book/, without its ending."""

    term: str
    definition: str
    chapter: int
    page: str
    aliases: tuple[str, ...]
    formerly: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """All of book/terms.yml; `terms` are in the glossary's order."""

    terms: tuple[Term, ...]
    replaced: tuple[Replaced, ...]
    revised_chapters: tuple[int, ...]


@lru_cache(maxsize=8)
def _load(path: Path, changed: float) -> Terms:
    return _read(path)


def load_terms(path: Path) -> Terms:
    """The terms of a file; raises TermsError with the file, the term and the fix."""
    if not path.exists():
        raise TermsError(f"{path} does not exist: restore it from the repository")
    return _load(path, path.stat().st_mtime)


def _read(path: Path) -> Terms:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise TermsError(f"{path} is not valid YAML: {error}") from error
    expected = {"revised_chapters", "terms", "wording"}
    if not isinstance(data, dict) or set(data) != expected:
        raise TermsError(f"{path}: write exactly the keys {', '.join(sorted(expected))}")
    entries, wording = data["terms"], data["wording"]
    for name, listed in (("terms", entries), ("wording", wording)):
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise TermsError(f"{path}: {name} must be a list of mappings")
    terms = [_term(path, entry) for entry in entries]
    replaced = [one for entry in entries for one in _replaced(path, entry, entry["term"])]
    for entry in wording:
        if set(entry) != {"write", "replaces"}:
            raise TermsError(f"{path}: {entry}: a wording has exactly `write` and `replaces`")
        replaced += _replaced(path, entry, entry["write"])
    _refuse_repeated_names(path, terms)
    return Terms(
        tuple(sorted(terms, key=lambda term: term.term.lower())),
        tuple(replaced),
        _chapters(path, "revised_chapters", data["revised_chapters"], CHAPTERS),
    )


def _term(path: Path, entry: dict[str, Any]) -> Term:
    name = entry.get("term")
    if not isinstance(name, str) or not name.strip():
        raise TermsError(f"{path}: {entry}: give the entry a `term`, a string")
    if missing := REQUIRED - set(entry):
        raise TermsError(f"{path}: {name}: add {', '.join(sorted(missing))}")
    if unknown := set(entry) - KEYS:
        raise TermsError(
            f"{path}: {name}: {', '.join(sorted(unknown))} has no meaning here; remove it or use"
            f" one of {', '.join(sorted(KEYS))}"
        )
    definition = entry["definition"]
    if not isinstance(definition, str) or not definition.strip().endswith((".", ")")):
        raise TermsError(f"{path}: {name}: write the definition as sentences that end with a stop")
    (chapter,) = _chapters(path, f"{name}: chapter", [entry["chapter"]], CHAPTERS)
    folders = sorted(path.parent.glob(f"{chapter:02d}-*"))
    pages = sorted(page.stem for folder in folders for page in folder.glob("*.md"))
    if entry["page"] not in pages:
        raise TermsError(
            f"{path}: {name}: chapter {chapter} has no page {entry['page']!r}; choose one of"
            f" {', '.join(pages)}"
        )
    return Term(
        name,
        " ".join(definition.split()),
        chapter,
        f"{folders[0].name}/{entry['page']}",
        _strings(path, name, entry, "aliases"),
        _strings(path, name, entry, "formerly"),
    )


def _strings(path: Path, name: str, entry: dict[str, Any], key: str) -> tuple[str, ...]:
    found = entry.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise TermsError(f"{path}: {name}: {key} must be a list of strings; quote them")
    return tuple(found)


def _chapters(path: Path, name: str, found: Any, allowed) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(type(one) is int for one in found):
        raise TermsError(f"{path}: {name} must be given in whole numbers, not {found!r}")
    if wrong := [str(one) for one in found if one not in allowed]:
        raise TermsError(
            f"{path}: {name}: there is no chapter {', '.join(wrong)}; use {min(allowed)} to"
            f" {max(allowed)}"
        )
    return tuple(found)


def _replaced(path: Path, entry: dict[str, Any], write: str) -> list[Replaced]:
    items = entry.get("replaces", [])
    if not isinstance(items, list):
        raise TermsError(f"{path}: {write}: replaces must be a list of words")
    return [_one_replaced(path, item, write) for item in items]


def _one_replaced(path: Path, item: Any, write: str) -> Replaced:
    item = {"word": item} if isinstance(item, str) else item
    if (
        not isinstance(item, dict)
        or not isinstance(item.get("word"), str)
        or set(item) - {"word", "pattern", "where", "write"}
    ):
        raise TermsError(
            f"{path}: {write}: {item!r} replaces nothing; write a word, or `word` with `pattern`"
            " or `where`"
        )
    where = item.get("where", "everywhere")
    if isinstance(where, str) and where not in PLACES:
        raise TermsError(
            f"{path}: {write}: where is {where!r}; use a list of chapters, or one of"
            f" {', '.join(sorted(PLACES))}"
        )
    chapters = (
        PLACES[where]
        if isinstance(where, str)
        else frozenset(_chapters(path, f"{write}: where", where, range(18)))
    )
    source = item.get("pattern", rf"\b{re.escape(item['word'])}\b".replace(r"\ ", " "))
    try:
        pattern = re.compile(SPACE.sub(_any_space, source), re.I)
    except re.error as error:
        raise TermsError(
            f"{path}: {write}: the pattern of {item['word']!r} is no regular expression: {error};"
            " put it in single quotes"
        ) from error
    if pattern.search(""):
        raise TermsError(
            f"{path}: {write}: the pattern of {item['word']!r} matches the empty text;"
            " make it match a word"
        )
    return Replaced(item["word"], pattern, chapters, item.get("write", write))


def _any_space(found: re.Match[str]) -> str:
    """A space of a pattern as one that a line break matches as well, but no empty line."""
    return r"(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)" if found[0] == " " else found[0].replace(" ", r"\s")


def _refuse_repeated_names(path: Path, terms: list[Term]) -> None:
    seen: dict[str, str] = {}
    for term in terms:
        for name in (term.term, *term.aliases):
            if name.lower() in seen:
                raise TermsError(
                    f"{path}: {term.term}: {name!r} is also a name of {seen[name.lower()]!r};"
                    " remove one of them"
                )
            seen[name.lower()] = term.term
