"""Checks of chapter 10, part 2: what LoRA stores, and the layer itself."""

import numpy as np
import torch

from autograder.chapters.c10_adapting_and_prompting.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import normal, one_changed, whole
from autograder.checks.protocol import CheckFailed, StudentError, exercise, expect, inside

BOOK = "10-adapting-and-prompting"
CLOSE = {"rtol": 1e-4, "atol": 1e-4}

predict_lora = exercise(
    "10.predict_lora",
    function="predict_lora",
    points=3,
    kind="predict",
    see=f"{BOOK}/lora#what-it-saves",
    withhold=OURS | LIBRARIES,
)

SIZES = (
    (3, 2, 1, 1, 4),
    (768, 768, 8, 1, 2),
    (12288, 12288, 4, 192, 2),
    (1, 1, 1, 1, 1),
    (5, 3, 7, 2, 8),
    (2, 300, 2, 3, 1),
    (300, 2, 2, 3, 4),
    (1_000_000, 2, 3, 1000, 4),
    (4096, 11008, 64, 32, 2),
    (3, 2, 1_000_000, 5, 4),
    (999_999, 999_997, 3, 99_999, 7),
    (999_999, 999_998, 999_983, 9_999, 7),
    *one_changed((5, 3, 7, 2, 8), (6, 4, 9, 3, 5)),
)


def counted(I: int, O: int, r: int, layers: int, bytes: int) -> dict[str, int]:
    """The right numbers, from the sizes of arrays that take no memory."""
    a, b, merged = (np.broadcast_to(np.int8(0), shape).size for shape in ((r, I), (O, r), (O, I)))
    return {
        "learned": layers * (a + b),
        "file": layers * (a + b) * bytes,
        "merged": layers * merged,
    }


def ask_number(student, rng, key: str, cause: str) -> None:
    """Compare one of the three numbers."""
    drawn = tuple(
        whole(rng, low, high) for low, high in ((2, 999), (2, 999), (1, 64), (2, 50), (1, 8))
    )
    for sizes in (*SIZES, drawn):
        given = "I = {}, O = {}, r = {}, {} layers, {} bytes".format(*sizes)
        right = counted(*sizes)
        came = expect(student.predict_lora(*sizes), given=given).only_keys(right)
        came.has(key).equals(right[key], cause=cause)


@predict_lora.stage("learned", points=1.5)
def test_what_is_learned(student, rng):
    ask_number(
        student,
        rng,
        "learned",
        "Each layer gets two matrices: A has r rows of I numbers, B has O rows of r. The weight and"
        " its bias are not trained.",
    )


@predict_lora.stage("file", points=0.5)
def test_what_is_sent(student, rng):
    ask_number(
        student,
        rng,
        "file",
        "The file holds what was learned and nothing else, `bytes` bytes for each number.",
    )


@predict_lora.stage("merged", points=1)
def test_what_a_merged_model_stores(student, rng):
    ask_number(
        student,
        rng,
        "merged",
        "B A has as many rows and columns as the weight that it is added to: a merged layer stores"
        " O rows of I numbers, as before, and nothing else.",
    )


lora = exercise(
    "10.LoRALinear",
    function="LoRALinear",
    points=9,
    see=f"{BOOK}/lora#by-hand-an-update-of-rank-one",
    withhold=OURS | LIBRARIES,
)


def parts(
    rng, I: int, O: int, r: int, with_bias: bool = True, bias: float = 0.0
) -> dict[str, torch.Tensor]:
    """The tensors of a layer, by name, without `bias` if there is none; bias: how large its numbers
    are, so that few stages ask for them.
    """
    drawn = {
        "weight": normal(rng, O, I),
        "bias": bias * normal(rng, O),
        "a": normal(rng, r, I),
        "b": normal(rng, O, r),
    }
    return drawn if with_bias else {name: one for name, one in drawn.items() if name != "bias"}


def update(of: dict, alpha: float) -> torch.Tensor:
    """alpha / r times B A, (O, I), in float64."""
    return alpha / len(of["a"]) * of["b"].double() @ of["a"].double()


def right(x, of: dict, alpha: float) -> torch.Tensor:
    """The right output."""
    return (
        x.double() @ (of["weight"].double() + update(of, alpha)).T
        + (of["bias"].double() if "bias" in of else 0)
    ).float()


NAMES = (
    "Numbers cannot be loaded into your layer: it should be an nn.Module whose `state_dict` has"
    " `weight` (O, I), `bias` (O) if there is one, `a` (r, I) and `b` (O, r), and nothing else."
)


def made(student, of: dict, alpha: float):
    """A layer with these very tensors in it."""
    layer = student.build("LoRALinear", of["weight"], of.get("bias"), len(of["a"]), alpha)
    try:
        inside(layer).load(of)
    except StudentError as error:
        if error.kind != "unreadable":
            raise
        raise CheckFailed(
            NAMES, error.text
        ) from None  # the text has sizes, which a cause must not have
    return layer


def own_scale(student, r: int, alpha: float) -> float:
    """By what the student multiplies B A, as an alpha that makes it so: the right alpha unless it
    is another one, which the stage `scale` judges.

    One so small that the update would not show is none: then any layer would agree with itself.
    """
    of = {
        "weight": torch.zeros(1, 1),
        "bias": torch.zeros(1),
        "a": torch.ones(r, 1),
        "b": torch.ones(1, r),
    }
    came = expect(made(student, of, alpha)(torch.ones(1, 1))).is_tensor(shape=(1, 1))
    return float(came) if 0.01 <= float(came) < 1e4 else alpha


def words(of: dict, alpha: float) -> str:
    """Sizes, for the detail."""
    (O, I), r = of["weight"].shape, len(of["a"])
    return (
        f"I = {I}, O = {O}, r = {r}, alpha = {alpha:g}, {'a bias' if 'bias' in of else 'no bias'}"
    )


BORDERS = (
    (1, 1, 1),
    (4, 3, 1),
    (3, 4, 3),
    (3, 3, 3),
    (2, 5, 4),
    (6, 1, 2),
    (1, 6, 2),
    (300, 2, 2),
    (2, 300, 2),
    (2, 3, 64),
)


@lora.stage("start", points=1.5)
def test_a_fresh_layer_is_the_layer_that_was_given(student, rng):
    rule = (
        "A fresh layer gives what the given one gives, x times the transpose of `weight`, plus"
        " `bias` if there is one: so B A is 0 at the start."
    )
    for place, (I, O, r) in enumerate(BORDERS):
        for with_bias in (True, False)[: 1 + (place < 3)]:
            of, x = parts(rng, I, O, r, with_bias, bias=1.0), normal(rng, 2, I)
            layer, given = (
                student.build("LoRALinear", of["weight"], of.get("bias"), r, 16.0),
                words(of, 16.0),
            )
            made(student, of, 16.0)  # says which names and shapes are missing
            a, b = (
                expect(inside(layer).get(name), f"`{name}`", given).is_tensor(
                    shape=tuple(of[name].shape), dtype=torch.float32
                )
                for name in "ab"
            )
            expect(bool((b @ a == 0).all())).is_true(cause=rule)
            expect(layer(x), given=given).close(
                (
                    x.double() @ of["weight"].double().T + of.get("bias", torch.zeros(1)).double()
                ).float(),
                **CLOSE,
                cause=rule,
            )
            drawn = a if not b.any() else b
            expect(bool((drawn != 0).any())).is_true(
                cause=(
                    "Both `a` and `b` are 0: then the gradient of each is 0 as well, and nothing is"
                    " ever learned. One of the two is drawn by chance."
                )
            )
            rows = drawn if drawn is a else drawn.T
            expect(len(rows.unique(dim=0)) == r).is_true(
                cause=(
                    "All r directions start alike, and so they stay alike: r times the same is rank"
                    " 1. Draw the numbers of one of the two by chance."
                )
            )
    of = parts(rng, 4, 3, 2)
    one, other = (student.build("LoRALinear", of["weight"], of["bias"], 2, 16.0) for _ in range(2))
    expect(
        not all(
            torch.equal(
                *(
                    expect(inside(layer).get(name)).is_tensor(dtype=torch.float32)
                    for layer in (one, other)
                )
            )
            for name in "ab"
        )
    ).is_true(
        cause=(
            "Two fresh layers begin with the same numbers. One of `a` and `b` is drawn at random,"
            " separately for each layer."
        )
    )


@lora.stage("update", points=1.5)
def test_the_update_is_added(student, rng):
    rule = (
        "The output is x W' + s x A' B' + bias, where ' is the transpose and s is one and the same"
        " number; which number is asked in the next stage."
    )
    for I, O, r in BORDERS:
        own = own_scale(student, r, float(r))
        larger = min(
            64.0, max(1.0, own / r)
        )  # a wrong scale makes rounding larger, too; r is 64 at most
        near = {name: limit * larger for name, limit in CLOSE.items()}
        for with_bias, size in ((True, (3, I)), (False, (2, 3, I)), (True, (I,)))[
            : 1 + 2 * (I < 4)
        ]:
            of = parts(rng, I, O, r, with_bias)
            x = normal(rng, *size)
            expect(made(student, of, float(r))(x), given=f"{words(of, r)}, x {tuple(size)}").close(
                right(x, of, own), **near, cause=rule
            )
    of, other, own = parts(rng, 4, 3, 2), parts(rng, 4, 3, 2), own_scale(student, 2, 2.0)
    x = normal(rng, 2, 4)
    one, two = made(student, of, 2.0), made(student, other, 2.0)
    for layer, its in ((one, of), (two, other), (one, of)):
        expect(layer(x), given=words(of, 2.0)).close(
            right(x, its, own),
            **CLOSE,
            cause=f"{rule} Two layers are asked in turns: each has its own numbers.",
        )
    inside(one).load(other)
    expect(one(x), given=words(other, 2.0)).close(
        right(x, other, own),
        **CLOSE,
        cause=f"{rule} Other numbers were loaded into the layer: those count.",
    )
    inside(one).train(False)
    inside(one).load(of)
    expect(one(x), given=words(of, 2.0)).close(
        right(x, of, own), **CLOSE, cause=f"{rule} `eval()` changes nothing."
    )
    turned = normal(rng, 4, 3, 2).permute(2, 1, 0)
    expect(one(turned), given="x is a transpose, (2, 3, 4)").close(
        right(turned, of, own),
        **CLOSE,
        cause=f"{rule} x may be a view of a larger tensor, such as a transpose.",
    )
    for many in (
        normal(rng, 300, 4),
        normal(rng, 2, 2, 2, 4),
        normal(rng, 0, 4),
        normal(rng, 2, 0, 4),
    ):
        expect(one(many), given=f"x {tuple(many.shape)}").close(
            right(many, of, own),
            **CLOSE,
            cause=f"{rule} x may have any number of axes, and of rows.",
        )


@lora.stage("scale", points=1.5)
def test_the_update_is_scaled(student, rng):
    rule = (
        "The update is scaled by alpha / r: with twice the rank and the same alpha each direction"
        " counts half."
    )
    by_hand = {
        "weight": torch.eye(3)[:2],
        "bias": torch.zeros(2),
        "a": torch.tensor([[1.0, 0.0, 2.0]]),
        "b": torch.tensor([[1.0], [-1.0]]),
    }
    expect(made(student, by_hand, 2.0)(torch.tensor([1.0, 2.0, 3.0]))).close(
        torch.tensor([15.0, -12.0]), **CLOSE, cause=f"{rule} This is the case by hand."
    )
    for r in (1, 2, 3, 8, 64):
        for alpha in (0.5, 16.0, float(whole(rng, 3, 40)), 100.0)[: 3 + (r > 1)]:
            of, x = parts(rng, 5, 4, r), normal(rng, 2, 5)
            expect(made(student, of, alpha)(x), given=words(of, alpha)).close(
                right(x, of, alpha), **CLOSE, cause=rule
            )
    of, x = parts(rng, 3, 2, 4), normal(rng, 2, 3)
    for alpha in (3.0, 0.0):
        expect(made(student, of, alpha)(x), given=words(of, alpha)).close(
            right(x, of, alpha), **CLOSE, cause=f"{rule} alpha may be 0."
        )


def learning(layer) -> set[str]:
    """Which parameters ask for a gradient, by name."""
    return {name for name, learns in inside(layer).learning().items() if learns}


@lora.stage("frozen", points=1.5)
def test_a_and_b_learn_and_nothing_else(student, rng):
    for I, O, r, with_bias in ((4, 3, 2, True), (3, 3, 3, False), (1, 2, 1, True), (5, 2, 4, True)):
        of, x, upstream, own = (
            parts(rng, I, O, r, with_bias),
            normal(rng, 6, I),
            normal(rng, 6, O),
            own_scale(student, r, 3.0),
        )
        layer = made(student, of, 3.0)
        expect(learning(layer) == {"a", "b"}).is_true(
            cause=(
                "`a` and `b` ask for a gradient (`nn.Parameter`), `weight` and `bias` do not"
                " (`requires_grad=False`, or a buffer): they are not trained."
            ),
            detail=f"These learn: {sorted(learning(layer))}",
        )
        leaves = {name: one.double().requires_grad_() for name, one in of.items()}
        inputs = x.double().requires_grad_()
        out = inputs @ (leaves["weight"] + own / r * leaves["b"] @ leaves["a"]).T + leaves.get(
            "bias", 0
        )
        (out * upstream.double()).sum().backward()
        found = inside(layer).gradients("", x, upstream=upstream, wrt=(0,))
        for name in "ab":
            expect(found.parameters.get(name) is not None).is_true(
                cause=f"No gradient reaches `{name}`."
            )
            expect(found.parameters[name], f"The gradient of `{name}`", words(of, 3.0)).close(
                leaves[name].grad.float(),
                rtol=1e-3,
                atol=1e-4,
                cause=(
                    f"The gradient of `{name}` is that of the formula: nothing on the way is"
                    " detached or created again."
                ),
            )
        expect(found.arguments[0] is not None).is_true(
            cause="No gradient reaches x: layers below could not learn."
        )
        expect(found.arguments[0], "The gradient of x", words(of, 3.0)).close(
            inputs.grad.float(),
            rtol=1e-3,
            atol=1e-4,
            cause=(
                "The gradient of x goes through `weight` as well as through the update: not to"
                " train a weight is not to cut it off (`no_grad`, `detach`)."
            ),
        )


def ask_weight(layer, wanted: torch.Tensor, cause: str, given: str) -> None:
    """Compare the weight as it is now."""
    expect(inside(layer).state().get("weight"), "`weight`", given).close(
        wanted.float(), **CLOSE, cause=cause
    )


MERGED = (
    (4, 3, 2, 6.0),
    (3, 3, 3, 1.0),
    (1, 1, 1, 2.0),
    (5, 2, 4, 0.5),
    (2, 6, 1, 8.0),
    (100, 3, 2, 4.0),
)


@lora.stage("merge", points=1.5)
def test_merged_it_gives_the_same_by_one_matrix(student, rng):
    rule = (
        "`merge` adds alpha / r times B A to `weight`: the output stays what it was, and one matrix"
        " makes it."
    )
    for place, (I, O, r, alpha) in enumerate(MERGED):
        of, x, own = (
            parts(rng, I, O, r, with_bias=place % 2 == 0),
            normal(rng, 3, I),
            own_scale(student, r, alpha),
        )
        layer, given = made(student, of, alpha), words(of, alpha)
        if place % 2:  # the others are merged before they were ever called
            expect(layer(x), given=given).close(
                right(x, of, own),
                **CLOSE,
                cause="Before it is merged, the output is as in the stages before.",
            )
        learned = learning(layer)
        inside(layer).call("merge")
        expect(layer(x), given=given).close(right(x, of, own), **CLOSE, cause=rule)
        ask_weight(layer, of["weight"].double() + update(of, own), rule, given)
        inside(layer).train(False)
        expect(layer(2 * x), given=given).close(right(2 * x, of, own), **CLOSE, cause=rule)
        inside(layer).train()
        ask_weight(
            layer,
            of["weight"].double() + update(of, own),
            f"{rule} `train()` and `eval()` change nothing: only `unmerge` takes it out.",
            given,
        )
        expect(learning(layer) <= learned).is_true(
            cause=(
                "`weight` and `bias` ask for no gradient, merged or not: after `merge` more is"
                " trained than before."
            )
        )
        expect(set(inside(layer).state()) == set(of)).is_true(
            cause=(
                "`state_dict` has the same names while the layer is merged: what is kept for"
                " `unmerge` is no part of it."
            )
        )
    of, other, own = parts(rng, 3, 2, 2), parts(rng, 3, 2, 2), own_scale(student, 2, 2.0)
    one, two = made(student, of, 2.0), made(student, other, 2.0)
    inside(one).call("merge")
    inside(two).call("merge")
    for layer, its in ((one, of), (two, other)):
        ask_weight(
            layer,
            its["weight"].double() + update(its, own),
            f"{rule} Two layers are merged one after the other: each knows of itself alone.",
            words(its, 2.0),
        )


@lora.stage("unmerge", points=1, after="merge")
def test_unmerged_it_is_as_before(student, rng):
    rule = (
        "`unmerge` takes alpha / r times B A out of `weight` again: `weight` is what it was, and"
        " the update is separate and trained again."
    )
    for I, O, r, alpha in MERGED[:4]:
        of, x, new, own = (
            parts(rng, I, O, r),
            normal(rng, 3, I),
            normal(rng, r, I),
            own_scale(student, r, alpha),
        )
        layer, given = made(student, of, alpha), words(of, alpha)
        learned = learning(layer)
        for _ in range(2):
            inside(layer).call("merge")
            inside(layer).call("unmerge")
            ask_weight(layer, of["weight"], rule, given)
            expect(layer(x), given=given).close(right(x, of, own), **CLOSE, cause=rule)
        expect(learning(layer) == learned).is_true(
            cause=(
                "After `unmerge` `a` and `b` ask for a gradient as before `merge`, and `weight` and"
                " `bias` for none."
            )
        )
        changed = of | {"a": new, "weight": normal(rng, O, I), "b": of["b"].flip(0)}
        inside(layer).load(changed)
        later = (
            f"{rule} Other numbers were loaded after that: what is merged, and what stays, is what"
            " the layer holds then."
        )
        expect(layer(x), given=given).close(right(x, changed, own), **CLOSE, cause=later)
        inside(layer).call("merge")
        ask_weight(layer, changed["weight"].double() + update(changed, own), later, given)
        inside(layer).call("unmerge")
        ask_weight(layer, changed["weight"], later, given)
        inside(layer).load(of)
        inside(layer).call("merge")  # before any other call
        ask_weight(layer, of["weight"].double() + update(of, own), later, given)


@lora.stage("twice", points=0.5, after="merge")
def test_merged_twice_is_merged_once(student, rng):
    rule = (
        "To merge what is merged changes nothing, and to unmerge what is not merged does not"
        " either."
    )
    for I, O, r, alpha in MERGED[::2]:
        of, x, own = parts(rng, I, O, r), normal(rng, 3, I), own_scale(student, r, alpha)
        layer, given, both = (
            made(student, of, alpha),
            words(of, alpha),
            of["weight"].double() + update(of, own),
        )
        for method, wanted in (
            ("unmerge", of["weight"]),
            ("merge", both),
            ("merge", both),
            ("unmerge", of["weight"]),
            ("unmerge", of["weight"]),
            ("merge", both),
            ("merge", both),
        ):
            inside(layer).call(method)
            ask_weight(layer, wanted, rule, given)
            expect(layer(x), given=given).close(right(x, of, own), **CLOSE, cause=rule)
        of = of | {"bias": normal(rng, O)}
        layer = made(student, of, alpha)
        for method in ("merge", "unmerge"):
            expect(layer(x), given=given).close(
                right(x, of, own), **CLOSE, cause="The bias is added once, merged or not."
            )
            inside(layer).call(method)
            expect(layer(x), given=given).close(
                right(x, of, own), **CLOSE, cause="The bias is added once, merged or not."
            )
        of = of | {"bias": normal(rng, O)}
        inside(layer).load(of)
        expect(layer(x), given=given).close(
            right(x, of, own),
            **CLOSE,
            cause="Another bias was loaded into the layer: that one counts.",
        )
