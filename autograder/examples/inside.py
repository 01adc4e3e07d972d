"""Takes the examples of a notebook whose cells run after this one, inside the sandbox.

It stands in for `autograder.examples` there, imports nothing of the course, and judges nothing.
"""

import sys as w2s_sys
import types as w2s_types

w2s_given = {}  # pairs by exercise, those of the last call
W2S_MOST = 21  # of these, one more than are judged


def w2s_examples(exercise=None, pairs=None):
    """Keep what `examples` was given in the notebook; it returns nothing, as at home."""
    if type(exercise) is str and len(w2s_given) < 100:
        w2s_given[exercise] = pairs[:W2S_MOST] if type(pairs) in (list, tuple) else pairs


def w2s_named() -> list:
    """The exercises for which examples were given."""
    return [name[:100] for name in w2s_given]


def w2s_pairs(exercise: str):
    """What was given for an exercise."""
    return w2s_given[exercise]


w2s_sys.modules["autograder.examples"] = w2s_types.ModuleType("autograder.examples")
w2s_sys.modules["autograder.examples"].examples = w2s_examples
