"""Real text, word pairs and vectors that the course works on, pinned by version and
hash.

    available()              what there is, with licence and size
    fetch(["kjv"])           bring it into the cache; needs the package index, once
    load("kjv")              read it from the cache; never opens a connection
    path("kjv")              the folder in the cache that holds its files

Everything but Python's own library comes inside packages of the Python index, because a
reader's machine is sure to have pip. A package is only a box here: its files are read
as data, its code is never imported.
"""

from reference_impl.corpora.cache import CorpusError, cache_dir
from reference_impl.corpora.entries import ENTRIES, Entry, PinnedFile, available, entry
from reference_impl.corpora.fetching import fetch, is_fetched, path, verify
from reference_impl.corpora.readers import Analogy, Pronunciation, RatedSnippet, load

__all__ = [
    "ENTRIES",
    "Analogy",
    "CorpusError",
    "Entry",
    "PinnedFile",
    "Pronunciation",
    "RatedSnippet",
    "available",
    "cache_dir",
    "entry",
    "fetch",
    "is_fetched",
    "load",
    "path",
    "verify",
]
