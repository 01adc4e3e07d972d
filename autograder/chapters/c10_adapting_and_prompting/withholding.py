"""What is withheld in the exercises of this chapter: the course's own answers, and two
libraries'.
"""

OURS = dict.fromkeys(
    (
        "reference_impl.models",
        "reference_impl.layers",
        "reference_impl.kernels",
        "reference_impl.objectives",
        "reference_impl.tokenizers",
        "reference_impl.generation",
        "reference_impl.weights",
    ),
    "it is the course's own answer",
)
LIBRARIES = dict.fromkeys(
    ("transformers", "peft", "trl"), "it gives the answer that you are asked to write"
)
