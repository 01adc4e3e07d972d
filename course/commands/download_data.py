"""`course download-data`: bring the pinned corpora and vectors into the cache, or check what is
there.
"""

import argparse
import json

from autograder.common.errors import CourseError

SUMMARY = "fetch the pinned corpora and vectors into the cache, and check their hashes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """NAMES, --verify, --list."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="corpora to fetch; all of them by default"
    )
    parser.add_argument(
        "--json", action="store_true", help="with --list or --verify, print what is there as JSON"
    )
    parser.add_argument(
        "--verify", action="store_true", help="hash every file in the cache in full; fetch nothing"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the corpora with size, licence and use; fetch nothing",
    )


def run(args: argparse.Namespace) -> int:
    """0 when all is in the cache; 1 when --verify finds a missing or damaged file; 2 when a fetch
    fails.
    """
    from reference_impl import corpora

    try:
        entries = [corpora.entry(name) for name in args.names] or list(corpora.available().values())
        if args.list:
            _list(entries, args.json)
            return 0
        if args.verify:
            return _verify(entries, args.json)
        corpora.fetch([item.name for item in entries])
        print(f"cache: {corpora.cache_dir()}")
    except corpora.CorpusError as error:
        raise CourseError(str(error)) from error
    return 0


def _list(entries: list, as_json: bool) -> None:
    from reference_impl import corpora

    if as_json:
        found = [
            {
                "name": item.name,
                "fetched": corpora.is_fetched(item.name),
                "size": item.size_text,
                "use": item.good_for,
                "source": item.source,
                "licence": item.licence,
            }
            for item in entries
        ]
        print(json.dumps(found, indent=1))
        return
    for item in entries:
        state = "in the cache" if corpora.is_fetched(item.name) else "not fetched"
        print(
            f"{item.name}  {item.size_text}, {state}\n    {item.good_for}\n"
            f"    {item.package} {item.version}; {item.source}\n    licence: {item.licence}"
        )


def _verify(entries, as_json: bool) -> int:
    from reference_impl import corpora

    damaged, said = 0, {}
    for item in entries:
        try:
            corpora.verify(item.name)
            said[item.name] = f"{len(item.files)} file(s), sha256 as pinned"
        except corpora.CorpusError as error:
            damaged += 1
            said[item.name] = str(error)
        if not as_json:
            print(f"{item.name}: {said[item.name]}", flush=True)
    if as_json:
        print(json.dumps({"damaged": damaged, "files": said}, indent=1))
    return 1 if damaged else 0
