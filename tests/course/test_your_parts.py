"""A student's functions inside trained models: right ones change nothing, wrong ones show."""
import pytest
import torch
from torch.nn.functional import layer_norm as torch_norm
from torch.nn.functional import scaled_dot_product_attention

from course.your_parts import bert_layers, with_your_heads, with_your_parts
from reference_impl.corpora.small_models import small_model
from reference_impl.layers.masks import lengths_mask
from reference_impl.models.bert import Bert, BertConfig

LENGTHS = torch.tensor([7, 4, 1])


def attention(q, k, v, mask):
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def masks(lengths, num_queries, num_keys):
    keys = torch.arange(num_keys)
    return (keys <= keys[num_keys - num_queries:, None]) & (keys < lengths.view(-1, 1, 1, 1))


def norm(x, weight, bias, eps):
    return torch_norm(x, weight.shape, weight, bias, eps)


def multi_head(x, w_q, w_k, w_v, w_o, num_heads):
    q, k, v = ((x @ w.T).unflatten(2, (num_heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    return scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ w_o.T


def bert() -> Bert:
    """The same tiny encoder at each call, every number drawn, biases and norms included."""
    torch.manual_seed(0)
    model = Bert(BertConfig(vocab_size=19, hidden_size=24, num_layers=3, num_heads=4, intermediate_size=32, hidden_dropout=0.0,
                            attention_dropout=0.0, max_position_embeddings=16)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn_like(parameter) + (parameter.ndim == 1))
    return model


def ids() -> torch.Tensor:
    return torch.randint(1, 19, (3, 7), generator=torch.Generator().manual_seed(1))


def apart(parts: dict) -> float:
    """How far the vectors move when these parts replace the right ones."""
    given = {"attention": attention, "masks": masks, "layer_norm": norm, **parts}
    yours, theirs = (bert_layers(model, ids(), LENGTHS) for model in (with_your_parts(bert(), **given), bert()))
    return float((yours - theirs)[:, lengths_mask(LENGTHS)].abs().max())


def test_right_parts_change_no_vector_of_a_padded_batch():
    assert apart({}) < 1e-5


@pytest.mark.parametrize("parts", [
    {"attention": lambda q, k, v, mask: attention(2 * q, k, v, mask)}, {"attention": lambda q, k, v, mask: attention(q, k, v, None)},
    {"masks": lambda lengths, queries, keys: masks(lengths - (lengths > 1).long(), queries, keys)},
    {"layer_norm": lambda x, weight, bias, eps: norm(x, weight, bias, 1e-2)},
    {"layer_norm": lambda x, weight, bias, eps: norm(x, weight, 0 * bias, eps)}])
def test_a_wrong_part_moves_the_vectors(parts):
    assert apart(parts) > 1e-3


def test_multi_head_without_biases_gives_the_vectors_of_a_model_with_them():
    heads, model = with_your_heads(bert(), multi_head), bert()
    for row, length in zip(ids(), LENGTHS.tolist(), strict=True):
        one, alone = row[None, :length], torch.tensor([length])
        assert torch.allclose(bert_layers(heads, one, alone), bert_layers(model, one, alone), atol=1e-5)
    with pytest.raises(ValueError, match="multi_head has no mask; give one text at a time"):
        bert_layers(heads, ids(), LENGTHS)


@torch.no_grad()
def test_a_translators_decoder_runs_by_the_students_causal_mask():
    kept = small_model("transformer_spelling")
    source, target = torch.randint(2, 28, (3, 7)), torch.randint(28, 97, (3, 5))
    tokens = lengths_mask(LENGTHS)
    theirs = kept.model(source, target, tokens)
    assert torch.allclose(with_your_parts(kept.model, attention, masks, norm)(source, target, tokens), theirs, atol=1e-4)
    seeing = small_model("transformer_spelling").model
    ahead = with_your_parts(seeing, attention, lambda lengths, queries, keys: masks(lengths, 1, keys).expand(-1, -1, queries, -1), norm)
    assert not torch.allclose(ahead(source, target, tokens), theirs, atol=0.1)
