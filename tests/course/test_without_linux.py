"""A student on Windows or macOS: check, submit, save, use and hint, with the parts of Linux taken
away before ours is imported.
"""

import json
import os
import subprocess
import sys

import pytest

from autograder.authoring.catalogue import ROOT
from autograder.authoring.student_notebook import Notebook
from autograder.grading.assignment import load_assignment

NAME = "03-context-before-attention"
# What others bring is imported while the system is what it is; then it is another one, and ours is
# imported.
PROGRAM = """
import contextlib, io, json, os, signal, subprocess, sys
import jupytext, nbformat, numpy, scipy, torch, jinja2, pygments.lexers, torch.func
import nbgrader.api, nbgrader.utils, jaxtyping, multiprocessing.connection
import concurrent.futures, asyncio
assert not [name for name in sys.modules
            if name.startswith(("autograder", "course", "reference_impl"))]
system, folder, calls = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.platform = system
gone = {"os": ["pidfd_open", "memfd_create", "sched_getaffinity"], "signal": []}
modules = []
if system == "win32":
    gone = {"os": [*gone["os"], "fork", "forkpty", "O_NOFOLLOW", "O_NONBLOCK", "geteuid", "getuid",
                   "killpg", "setsid", "getpgid", "mkfifo", "chown", "wait4",
                   "waitstatus_to_exitcode"],
            "signal": ["SIGALRM", "SIGKILL", "setitimer", "alarm", "SIGCHLD", "SIGXCPU", "SIGSTOP",
                       "SIGCONT"]}
    modules = ["fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"]
for where, names in gone.items():
    for name in names:
        if hasattr(sys.modules[where], name):
            delattr(sys.modules[where], name)
for name in modules:
    sys.modules[name] = None
real = open
def without_proc(path, *args, **kwargs):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(2, "there is no /proc here", str(path))
    return real(path, *args, **kwargs)
import builtins
builtins.open = io.open = without_proc
from autograder.checks.restrictions import reference_imports as borrowed
from pathlib import Path
borrowed.PACKAGE = Path(folder) / "mywork" / "word2serve_me"
from course.cli import main
os.chdir(folder)
for words in calls:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    print(json.dumps({"words": words, "code": code, "out": out.getvalue(),
                      "err": err.getvalue()[-3000:]}))
"""


@pytest.fixture(scope="module", params=["win32", "darwin"])
def said(request, tmp_path_factory):
    """What each command said, by its words, on a system without Linux's own parts; the notebook has
    two right answers.
    """
    folder = tmp_path_factory.mktemp(request.param)
    notebook = Notebook(load_assignment("03")).solve("bigram_counts", "judge").nb
    for cell in notebook.cells[:4]:
        cell["id"] = "same"
    (folder / f"{NAME}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    path = f"{NAME}.ipynb"
    calls = [
        ["check", "03.judge", path, "--json"],
        ["check", "03.lstm_step", path, "--json"],
        ["submit", path, "--dry-run", "--json"],
        ["submit", path],
        ["save", "03", path, "--json"],
        ["use", "reference", "03", "--json"],
        ["hint", "03.judge", "--json"],
    ]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, request.param, str(folder), json.dumps(calls)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return {" ".join(one["words"]): one for one in map(json.loads, ran.stdout.splitlines())}, folder


def test_check_says_what_is_right_and_what_is_not_written(said):
    found, _ = said
    right, empty = (
        found[f"check 03.judge {NAME}.ipynb --json"],
        found[f"check 03.lstm_step {NAME}.ipynb --json"],
    )
    assert (right["code"], empty["code"]) == (0, 1), right["err"]
    assert json.loads(right["out"])["earned"] == json.loads(right["out"])["points"]
    assert json.loads(empty["out"])["exercises"][0]["stages"][0]["status"] == "not_attempted"


def test_submit_judges_the_whole_notebook_and_mends_ids(said):
    found, folder = said
    looked = json.loads(found[f"submit {NAME}.ipynb --dry-run --json"]["out"])
    earned = {one["exercise"]: (one["earned"], one["points"]) for one in looked["results"]}
    assert (
        earned["03.judge"][0] == earned["03.judge"][1]
        and earned["03.bigram_counts"][0] == earned["03.bigram_counts"][1]
    )
    assert (
        sum(have for have, _ in earned.values())
        == earned["03.judge"][1] + earned["03.bigram_counts"][1]
    )
    assert looked["tier"] == {"win32": "none", "darwin": "process"}[folder.name[:-1]]
    assert (
        looked["doubled"] == ["'same' names 4 cells; Jupyter wants one name a cell"]
        and looked["human"] == []
    )
    ids = [
        cell["id"]
        for cell in json.loads((folder / "hand-in" / f"{NAME}.ipynb").read_text(encoding="utf-8"))[
            "cells"
        ]
    ]
    assert len(set(ids)) == len(ids) and "(3 ids are new)" in found[f"submit {NAME}.ipynb"]["out"]


def test_save_use_and_hint_work(said):
    found, folder = said
    saved = json.loads(found[f"save 03 {NAME}.ipynb --json"]["out"])
    assert {"bigram_counts", "judge"} <= set(saved["saved"]) and saved["path"].startswith(
        str(folder)
    )
    assert (
        json.loads(found["use reference 03 --json"]["out"])["borrowed"] == ["03"]
        and found["use reference 03 --json"]["code"] == 0
    )
    assert json.loads(found["hint 03.judge --json"]["out"])["step"] == 1
