"""What is withheld in the exercises of this chapter: the course's own answers, a library's, and
torch's ready ones.
"""

OURS = dict.fromkeys(
    (
        "reference_impl.models",
        "reference_impl.layers",
        "reference_impl.kernels",
        "reference_impl.objectives",
        "reference_impl.training",
        "reference_impl.generation",
        "reference_impl.engine",
        "reference_impl.measure.flops",
        "reference_impl.weights",
    ),
    "it is the course's own answer",
)
LIBRARIES = {"transformers": "it gives the answer that you are asked to write"}
OPTIMIZERS = dict.fromkeys(
    ("torch.optim", "torch._fused_adamw_"), "it makes the step that you are asked to write"
)
READY = dict.fromkeys(
    (
        "torch.nn.TransformerEncoderLayer",
        "torch.nn.TransformerEncoder",
        "torch.nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward",
    ),
    "it is the layer that you are asked to write",
)
