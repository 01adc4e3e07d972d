"""What is withheld in the exercises of this chapter: the course's own answers, and libraries'."""

OURS = dict.fromkeys(
    (
        "course.capstone",
        "reference_impl.models",
        "reference_impl.layers",
        "reference_impl.measure",
        "reference_impl.objectives",
        "reference_impl.weights",
    ),
    "it is the course's own answer",
)
LIBRARIES = dict.fromkeys(
    ("transformers", "statsmodels", "scipy.stats", "sklearn"),
    "it gives the answer that you are asked to write",
)
