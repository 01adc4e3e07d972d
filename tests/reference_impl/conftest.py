"""What the tests of the reference implementation share.

pyproject.toml has its signatures' shapes checked by beartype.
"""

import jaxtyping
import pytest


@pytest.fixture
def as_students_run_it():
    """Without the hook's checks of shapes, which would refuse bad input before our own words do."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
