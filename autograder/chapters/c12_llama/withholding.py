"""What is withheld in the exercises of this chapter: the course's own answers, a library's, and
torch's ready norms and attention.
"""

OURS = dict.fromkeys(
    (
        "reference_impl.models",
        "reference_impl.layers",
        "reference_impl.kernels",
        "reference_impl.generation",
        "reference_impl.engine",
        "reference_impl.weights",
        "reference_impl.measure.cache_bytes",
    ),
    "it is the course's own answer",
)
LIBRARIES = {"transformers": "it gives the answer that you are asked to write"}
NORMS = dict.fromkeys(
    (
        "torch.nn.functional.rms_norm",
        "torch.nn.RMSNorm",
        "torch.rms_norm",
        "torch.ops.aten.rms_norm",
        "torch.ops.aten._fused_rms_norm",
        "torch.nn.functional.layer_norm",
        "torch.nn.LayerNorm",
        "torch.layer_norm",
        "torch.native_layer_norm",
        "torch.ops.aten.layer_norm",
        "torch.ops.aten.native_layer_norm",
        "torch.nn.functional.group_norm",
        "torch.nn.GroupNorm",
        "torch.group_norm",
        "torch.native_group_norm",
    ),
    "it is a ready norm, which you are asked to write",
)
FUSED = dict.fromkeys(
    (
        "torch.nn.functional.scaled_dot_product_attention",
        "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.MultiheadAttention",
        "torch.nn.TransformerEncoderLayer",
        "torch.nn.TransformerDecoderLayer",
        "torch._native_multi_head_attention",
        "torch.ops.aten._scaled_dot_product_attention_math",
        "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
        "torch.ops.aten._scaled_dot_product_flash_attention",
        "torch.nn.attention.flex_attention.flex_attention",
    ),
    "it is the attention that you are asked to write",
)
