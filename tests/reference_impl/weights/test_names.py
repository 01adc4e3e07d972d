"""Names both ways."""

import pytest
import torch

from reference_impl.weights.families import tables
from reference_impl.weights.names import Files, Names
from reference_impl.weights.safetensors_files import WeightsError

NAMES = Names(
    {
        "embedding": "wte",
        "blocks.*.up": "h.*.mlp.c_fc",
        "blocks.*.parts.*.norm": "h.*.p.*.ln",
        "table": "t",
    },
    frozenset({"blocks.*.up"}),
    {"second.weight": "wte.weight"},
)


def read(names, theirs):
    """Our names of what a file holds, each with its tensor."""
    return {place.ours: place.tensor for place in names.to_ours(theirs)}


OURS = {
    "embedding.weight": torch.ones(5, 2),
    "blocks.10.up.weight": torch.arange(6.0).view(2, 3),
    "blocks.10.up.bias": torch.zeros(2),
    "blocks.3.parts.7.norm.weight": torch.ones(1),
    "table": torch.ones(2),
}


def test_names_go_there_and_come_back_with_their_numbers_and_matrices_turned():
    theirs = NAMES.to_theirs(OURS)
    assert {name: tuple(tensor.shape) for name, tensor in theirs.items()} == {
        "wte.weight": (5, 2),
        "h.10.mlp.c_fc.weight": (3, 2),
        "h.10.mlp.c_fc.bias": (2,),
        "h.3.p.7.ln.weight": (1,),
        "t": (2,),
        "second.weight": (5, 2),
    }
    back = read(NAMES, theirs)
    assert back.keys() == OURS.keys() and all(torch.equal(back[name], OURS[name]) for name in OURS)


def test_one_of_two_names_is_enough():
    assert set(read(NAMES, {"second.weight": torch.ones(5, 2)})) == {"embedding.weight"}


def test_a_name_of_files_is_read_and_not_written():
    names = Names({"output": "lm_head"}, files={"embed_out.weight": "lm_head.weight"})
    assert set(read(names, {"embed_out.weight": torch.ones(1)})) == {"output.weight"}
    assert set(names.to_theirs({"output.weight": torch.ones(1)})) == {"lm_head.weight"}


def test_computed_tables_are_looked_at_and_left():
    names = Names(
        {"qkv": "h.*.attn.c_attn"},
        computed={"h.*.attn.bias": tables.causal, "position_ids": tables.counted},
    )
    theirs = {
        "h.0.attn.bias": torch.ones(4, 4).tril()[None, None],
        "position_ids": torch.arange(5)[None],
        "h.0.attn.c_attn.bias": torch.ones(1),
    }
    assert len(names.to_ours(theirs)) == 1
    for name, other in (
        ("h.0.attn.bias", torch.ones(1, 1, 4, 4)),
        ("position_ids", torch.arange(5).flip(0)),
    ):
        with pytest.raises(WeightsError, match=f"'{name}' is a table that this model computes"):
            names.to_ours({**theirs, name: other})


def test_a_name_that_is_left_out_has_the_tensor_of_another():
    names = Names(
        {"embedding": "shared", "output": "lm_head"}, otherwise={"lm_head.weight": "shared.weight"}
    )
    shared, head = torch.ones(2, 3), torch.zeros(2, 3)
    assert read(names, {"shared.weight": shared})["output.weight"] is shared
    assert read(names, {"shared.weight": shared, "lm_head.weight": head})["output.weight"] is head


def test_first_files_call_a_norms_weight_and_bias_gamma_and_beta():
    names = Names({"norm": "LayerNorm", "dense": "dense"})
    assert set(
        read(names, {"LayerNorm.gamma": torch.ones(1), "LayerNorm.beta": torch.ones(1)})
    ) == {"norm.weight", "norm.bias"}
    assert set(read(names, {"dense.gamma": torch.ones(1)})) == {"dense.gamma"}


@pytest.mark.parametrize(
    "name",
    ["wtf.weight", "h.x.mlp.c_fc.weight", "h.1.mlp.c_fc.weight.more", "awte.weight", "h.1.mlp"],
)
def test_a_name_that_no_entry_fits_is_refused(name):
    with pytest.raises(WeightsError, match="is no parameter of this model"):
        NAMES.to_ours({name: torch.ones(1)})


def test_the_names_of_a_part_are_below_its_name():
    inside = NAMES.inside("bert", "model.bert").with_more({"head": "cls"})
    assert inside.to_theirs(
        {"bert.blocks.2.up.weight": torch.ones(2, 3), "head.bias": torch.ones(1)}
    ).keys() == {"model.bert.h.2.mlp.c_fc.weight", "cls.bias"}
    assert set(read(inside, {"model.bert.second.weight": torch.ones(5, 2)})) == {
        "bert.embedding.weight"
    }


def test_a_part_is_taken_out_of_a_larger_models_file_and_only_known_heads_are_left():
    files = Files(NAMES, inside="bert", leave=("cls.", "pooler."))
    weights = {
        "bert.wte.weight": torch.ones(1),
        "bert.pooler.weight": torch.ones(1),
        "cls.bias": torch.ones(1),
    }
    assert (
        set(files.part(weights)) == {"wte.weight"} == set(files.part({"wte.weight": torch.ones(1)}))
    )
    with pytest.raises(WeightsError, match="'qa.bias' is neither a part of 'bert' nor of a head"):
        files.part({**weights, "qa.bias": torch.ones(1)})
    outer = Files(NAMES, outer="transformer")
    assert (
        set(outer.part({"wte": torch.ones(1)}))
        == {"transformer.wte"}
        == set(outer.part({"transformer.wte": torch.ones(1)}))
    )
