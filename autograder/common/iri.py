"""jsonschema's check of international addresses (IRIs), postponed until somebody asks for it.

nbformat imports jsonschema, and jsonschema imports rfc3987_syntax where that is installed, which
then builds forty grammars: 1.7 s of processor time in every process that reads a notebook. No
schema of Jupyter's holds an IRI.
"""

import importlib
import sys
from types import ModuleType

NAME = "rfc3987_syntax"


class Postponed(ModuleType):
    """Stands in the place of the module, and loads it when one of its functions is called or it is
    asked for another name.
    """

    def is_valid_syntax(self, rule: str, value: str) -> bool:
        """Whether the value follows the rule of RFC 3987; jsonschema imports this name before it
        checks anything.
        """
        return load().is_valid_syntax(rule, value)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what the import system asks of every module
            raise AttributeError(name)
        return getattr(load(), name)


def postpone() -> None:
    """Put the stand-in in the place of the module, unless that is loaded already.

    Before jsonschema is imported.
    """
    sys.modules.setdefault(NAME, Postponed(NAME))


def load() -> ModuleType:
    """The real module."""
    if isinstance(sys.modules.get(NAME), Postponed):
        del sys.modules[NAME]
    return importlib.import_module(NAME)
