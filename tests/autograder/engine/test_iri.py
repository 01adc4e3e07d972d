"""What reads a notebook does not wait for grammars of addresses, and an address is checked all the
same.
"""

import subprocess
import sys

ADDRESSES = """
import course, nbformat, sys
assert "lark" not in sys.modules, "the grammars were loaded with nbformat"
from jsonschema import FormatChecker
check = FormatChecker().conforms
assert check("http://ex\\u00e4mple.org/a", "iri") and not check("no address", "iri")
assert not check("a b<", "iri-reference")
from rfc3987_syntax import is_valid_syntax_iri
assert "lark" in sys.modules and is_valid_syntax_iri("http://\\u00e4.org/")
"""


def test_the_grammars_of_addresses_are_loaded_when_one_is_checked_and_not_before():
    done = subprocess.run([sys.executable, "-c", ADDRESSES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
