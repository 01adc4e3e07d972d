"""The recorder as it runs in the sandbox: one cell after a student's."""

import pytest

from autograder.viva.ask import recorder_cell


@pytest.fixture(scope="session")
def watched():
    """From a student's cell to its names, with the recorder's entries among them."""

    def run(source: str, **more) -> dict:
        names = {"__name__": "student", **more}
        exec("import torch", names)
        exec(compile(source, "answer", "exec"), names)
        exec(compile(recorder_cell().source, "recorder", "exec"), names)
        return names

    return run


@pytest.fixture(scope="session")
def recorded(watched):
    """The record of a cell, after calls of its function or class were made by `calls`."""

    def run(source: str, name: str, calls, given: tuple = ()) -> dict:
        names = watched(source)
        names["w2s_begin"](name)
        calls(names)
        assert names["w2s_end"]()
        return names["w2s_record"](source, name, list(given)) | {"names": names}

    return run


@pytest.fixture(scope="session")
def changed():
    """All changes of a cell whose record was made with these names."""

    def run(names: dict, source: str, name: str) -> dict:
        found, number, more = [], 0, True
        while more:
            one = names["w2s_changed"](source, name, [], number)
            found, number, more = found + one["changes"], number + 1, one["more"]
        return {"before": one["before"], "changes": found}

    return run


@pytest.fixture(scope="session")
def runs(recorded, changed):
    """All that questions on a cell are made of; `calls` as for `recorded`."""

    def run(source: str, name: str, calls) -> dict:
        record = recorded(source, name, calls)
        names = record.pop("names")
        found = {"record": record, "changed": changed(names, source, name), "inputs": []}
        number, more = 0, True
        while more:
            one = names["w2s_inputs"](source, name, [], number)
            found["inputs"] += one["inputs"]
            number, more = number + 1, one["more"]
        return found | {"grown": names["w2s_grown"](source, name, [])}

    return run
