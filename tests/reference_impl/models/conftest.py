"""Our model beside the library's: the same weights by name, then the same numbers, in float64."""

import contextlib
from types import SimpleNamespace

import pytest
import torch

from reference_impl.layers.attention import LayerCache
from reference_impl.weights.pretrained import hugging_face_state, load_hugging_face

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def make_same(ours, theirs):
    """Random numbers in every parameter of the library's model, norms and biases too, and the same
    in ours.
    """
    generator = torch.Generator().manual_seed(0)
    theirs.double().eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(
                torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.3
            )
    ours.double().eval()
    load_hugging_face(ours, theirs.state_dict())
    return ours, theirs


def assert_close(ours, theirs):
    """To 1e-10, absolute and relative."""
    torch.testing.assert_close(ours, theirs, **CLOSE)


def assert_same_gradients(ours, theirs, our_loss, their_loss):
    """The losses agree, and after one backward pass of each the gradients of all parameters, by
    name.
    """
    assert_close(our_loss, their_loss)
    ours.zero_grad()
    theirs.zero_grad()
    our_loss.backward()
    their_loss.backward()

    def gradients(model):
        parameters = model.named_parameters(remove_duplicate=False)
        return {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in parameters}

    renamed, expected = ours.names.to_theirs(gradients(ours)), gradients(theirs)
    assert renamed.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(
            renamed[name], gradient, **CLOSE, msg=lambda text, name=name: f"{name}: {text}"
        )
    assert any(gradient.abs().max() > 1e-3 for gradient in expected.values())


def assert_same_state(ours, theirs):
    """Our weights under Hugging Face's names are the library's state_dict, name by name, and load
    into the library.
    """
    state, expected = hugging_face_state(ours), theirs.state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name], expected[name]) for name in expected)
    theirs.load_state_dict(state)


def check_causal_lm(ours, theirs, ids, mask):
    """A decoder's logits, its next-token loss, all gradients and its names are the library's.

    Padding is on the right, where no token sees it: ours takes no mask.
    """
    labels = ids.where(mask, -100)
    output = theirs(ids, attention_mask=mask.long(), labels=labels)
    logits = ours(ids)
    assert_close(logits[mask], output.logits[mask])
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
    assert_same_gradients(ours, theirs, loss, output.loss)
    assert_same_state(ours, theirs)


@pytest.fixture(scope="session")
def parity():
    return SimpleNamespace(
        make_same=make_same,
        assert_close=assert_close,
        assert_same_gradients=assert_same_gradients,
        assert_same_state=assert_same_state,
        check_causal_lm=check_causal_lm,
    )


@pytest.fixture
def ragged():
    """Ids and a mask of tokens for sequences of these lengths, padded after their end.

    No id is below `first`: transformers' embeddings give the row of the padding id no gradient,
    even where it is read.
    """

    def make(vocab_size, lengths, first=1):
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(first, vocab_size, (len(lengths), max(lengths)), generator=generator)
        return ids, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]

    return make


class Widened:
    """torch as a library's module sees it, with float64 where the module asks for float32."""

    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@pytest.fixture(scope="session")
def in_double():
    """Some of transformers' modules compute norms and angles in float32 whatever the dtype; inside
    this, in float64.

    Without it a comparison could show no more than 1e-6, and a wrong epsilon would pass.
    """

    @contextlib.contextmanager
    def widen(*modules, tensors=True):
        with pytest.MonkeyPatch.context() as patch:
            for module in modules:
                patch.setattr(module, "torch", Widened())
            if tensors:
                patch.setattr(torch.Tensor, "float", torch.Tensor.double)
            yield

    return widen


class PlainCache(LayerCache):
    """Keys and values of one layer, put one after the other: the least that a model's `cache` must
    do.
    """

    def __init__(self):
        self.keys = self.values = None
        self.length = 0

    def append(self, k, v):
        self.keys = k if self.keys is None else torch.cat((self.keys, k), dim=2)
        self.values = v if self.values is None else torch.cat((self.values, v), dim=2)
        self.length = self.keys.shape[2]
        return self.keys, self.values


def check_cache(model, ids, cuts):
    """Fed piece by piece with a cache, a model gives the logits that it gives for all tokens at
    once.
    """
    cache = [PlainCache() for _ in model.blocks]
    pieces = [model(piece, cache=cache) for piece in ids.tensor_split(cuts, dim=1)]
    assert_close(torch.cat(pieces, dim=1), model(ids))


def check_left_padding(model, ids, num_padding):
    """Padding in front, with a mask and positions that start after it, changes no logit of
    a token.
    """
    padded = torch.cat((torch.zeros(len(ids), num_padding, dtype=torch.long), ids), dim=1)
    mask = torch.arange(padded.shape[1]).expand(padded.shape) >= num_padding
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    assert_close(model(padded, mask, positions)[:, num_padding:], model(ids))


@pytest.fixture(scope="session")
def decoding():
    return SimpleNamespace(check_cache=check_cache, check_left_padding=check_left_padding)
