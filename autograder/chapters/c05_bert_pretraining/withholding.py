"""What is withheld in the exercises of this chapter: the course's own answers, and torch's ready
Transformer layers.
"""

OURS = dict.fromkeys(
    (
        "reference_impl.models",
        "reference_impl.layers",
        "reference_impl.kernels",
        "reference_impl.objectives",
        "reference_impl.tokenizers",
        "reference_impl.measure.flops",
        "reference_impl.measure.tensors",
        "reference_impl.weights",
    ),
    "it is the course's own answer",
)
LIBRARIES = dict.fromkeys(
    ("transformers", "tokenizers"), "it gives the answer that you are asked to write"
)
READY = dict.fromkeys(
    (
        "torch.nn.TransformerEncoderLayer",
        "torch.nn.TransformerEncoder",
        "torch.nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward",
        "torch._native_multi_head_attention",
        "torch._transformer_encoder_layer_fwd",
    ),
    "it is the layer that you are asked to write",
)
