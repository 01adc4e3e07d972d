"""The `course` command, set-up, the book's builder and the sample class: above `autograder` and
`reference_impl`.
"""

from autograder.common import iri

iri.postpone()
