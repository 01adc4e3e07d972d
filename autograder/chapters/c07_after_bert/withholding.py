"""What is withheld in the exercises of this chapter: the course's own answers, and a library's."""

# Not `reference_impl.measure.tensors`: with it a notebook keeps the cap on memory that exercise 9
# needs.
OURS = dict.fromkeys(
    (
        "reference_impl.models",
        "reference_impl.layers",
        "reference_impl.kernels",
        "reference_impl.objectives",
        "reference_impl.tokenizers",
        "reference_impl.measure.flops",
        "reference_impl.weights",
    ),
    "it is the course's own answer",
)
LIBRARIES = {"transformers": "it gives the answer that you are asked to write"}
