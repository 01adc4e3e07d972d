"""Import the package under jaxtyping's hook, so that every shape written in a signature is checked by beartype."""
import sys

import jaxtyping
import pytest

# A module that another folder's tests have imported already can't be hooked any more; test_shapes.py then says so.
if not any(name.startswith("reference_impl.") for name in sys.modules):
    jaxtyping.install_import_hook("reference_impl", "beartype.beartype")


@pytest.fixture
def as_students_run_it():
    """Without the hook's checks of shapes, which would refuse bad input before our own words do."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
