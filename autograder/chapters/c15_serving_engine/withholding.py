"""What is withheld in the exercises of this chapter: the course's own engine, and its loops of
generation.
"""

OURS = dict.fromkeys(
    ("reference_impl.engine", "reference_impl.generation", "reference_impl.kernels"),
    "it is the course's own answer",
)
RIVALS = dict.fromkeys(
    ("transformers", "vllm", "openai"), "it gives the answer that you are asked to write"
)
