"""Import the package under jaxtyping's hook, so that every shape written in a signature is checked by beartype."""
import sys

from jaxtyping import install_import_hook

# A module that another folder's tests have imported already can't be hooked any more; test_shapes.py then says so.
if not any(name.startswith("reference_impl.") for name in sys.modules):
    install_import_hook("reference_impl", "beartype.beartype")
