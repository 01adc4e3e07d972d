"""What is particular to chapter 14's exercises: cards, the course's engine and torch as rivals, the
shortest runs, the real thing.
"""

import re

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import namespace_of, reference
from autograder.chapters.c14_paged_attention.machine import play
from autograder.chapters.c14_paged_attention.models import BlocksModel, PrefixModel
from autograder.chapters.c14_paged_attention.walks import visits, walk
from autograder.checks.kernels.interpreter import Switch
from autograder.checks.messages import first_failure
from autograder.checks.protocol import Buffer, LocalStudent, run_exercise
from reference_impl.corpora.small_models import small_model
from reference_impl.engine.block_manager import BlockManager, OutOfBlocks
from reference_impl.engine.sequence import Sequence
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.kernels.cache_write import store_kv
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.measure.cache_bytes import (
    bytes_per_token,
    reserved_blocks,
    reserved_contiguous,
    waste,
)

FOURTEEN = assignment("14")
OURS = reference("14")


def drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sequence(name: str, ids: list[int]) -> Sequence:
    return Sequence(name, ids, SamplingParams(max_tokens=4))


def test_the_assignment_is_worth_fifty_four_points_and_takes_less_than_three_hours():
    assert FOURTEEN.points == 54
    minutes = [
        int(re.search(r"\*\*Time\*\* (\d+) minutes", cell.source)[1])
        for name, cells in FOURTEEN.cells.items()
        if name.endswith("-card")
        for cell in cells[:1]
    ]
    assert len(minutes) == 9 and sum(minutes) == 174


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    found = OURS["predict_pool"]([8, 4, 11, 1], 4, 16, 30, 9, 3, 64, 16)
    assert found == {
        "token": 23_040,
        "contiguous": 1_474_560,
        "paged": 645_120,
        "empty": pytest.approx(1 / 7),
    }
    table = torch.tensor([7, 2, 5])
    assert OURS["slots"](table, 9, 1, 4).tolist() == [21] and OURS["slots"](
        table, 2, 4, 4
    ).tolist() == [30, 31, 8, 9]
    pool = OURS["Blocks"](8, 4)
    pool.allocate("a", 6)
    pool.fork("a", "b")
    pool.fork("a", "c")
    assert pool.num_free == 6
    assert [pool.append(name) is None for name in "abc"] == [
        False,
        False,
        True,
    ] and 8 - pool.num_free == 4
    five, four, other = (
        OURS["block_keys"](ids, 2, b"") for ids in ([5, 1, 7, 7, 9], [5, 1, 7, 7], [1, 5, 7, 7])
    )
    assert five == four and len(five) == 2 and not set(five) & set(other)
    kept = OURS["PrefixCache"](3, 4)
    assert kept.begin("a", [b"x", b"y"], 8) == 0
    for _ in range(2):
        kept.take("a")
    for place, key in enumerate((b"x", b"y")):
        kept.know("a", place, key)
    x, y = kept.tables["a"]
    kept.release("a")
    assert kept.begin("b", [b"x", b"y"], 8) == 4
    kept.take("b")
    assert kept.begin("c", [b"x", b"y"], 9) == 8
    third = kept.tables["b"][1]
    kept.release("b")
    kept.release("c")
    kept.begin("d", [], 3)
    for _ in range(2):
        kept.take("d")
    assert kept.tables["d"] == [third, y] and third not in (x, y)


def test_the_kernels_cards_are_right():
    student = LocalStudent(OURS)
    cache = torch.zeros(6, 4, 1, 1)
    after = student.kernel(
        "write_kv",
        torch.ones(3, 1, 1),
        torch.ones(3, 1, 1),
        Buffer(cache),
        Buffer(cache),
        torch.tensor([21, -1, 8]),
    )
    assert after.args[2].values.nonzero()[:, :2].tolist() == [[2, 0], [5, 1]]
    k, v = torch.full((6, 2, 1, 16), torch.nan), torch.full((6, 2, 1, 16), torch.nan)
    for block, place, weight, value in ((4, 0, 1.0, 8.0), (4, 1, 3.0, 0.0), (1, 0, 12.0, 6.0)):
        k[block, place], v[block, place] = torch.tensor(weight).log(), value
    after = student.kernel(
        "decode_shares",
        torch.full((1, 1, 16), 0.25),
        k,
        v,
        torch.tensor([[4, 1]], dtype=torch.int32),
        torch.tensor([3], dtype=torch.int32),
        Buffer(torch.zeros(1, 1, 2, 16)),
        Buffer(torch.zeros(1, 1, 2)),
    )
    parts, lse = after.args[5].values, after.args[6].values
    assert_close(parts[0, 0, :, 0], torch.tensor([2.0, 6.0]))
    assert_close(lse[0, 0].exp(), torch.tensor([4.0, 12.0]))
    assert_close(
        student.kernel("merge_shares", parts, lse, Buffer(torch.zeros(1, 1, 16))).args[2].values,
        torch.full((1, 1, 16), 5.0),
    )


def test_reserved_bytes_are_the_courses():
    lengths = [3, 0, 17, 16, 33]
    for bits, dtype in ((8, torch.int8), (16, torch.float16), (32, torch.float32)):
        found, token = (
            OURS["predict_pool"](lengths, 16, 64, 30, 9, 3, 64, bits),
            bytes_per_token(30, 3, 64, dtype),
        )
        assert found == {
            "token": token,
            "contiguous": token * reserved_contiguous(lengths, 64),
            "paged": token * reserved_blocks(lengths, 16),
            "empty": pytest.approx(waste(lengths, reserved_blocks(lengths, 16))),
        }


@pytest.mark.parametrize("seed", range(6))
def test_blocks_are_held_and_copied_as_the_courses_engine_does(seed):
    """The same commands to the engine's manager: as many blocks free after each, and copies for the
    same ones.
    """
    num_blocks, size, commands = walk(drawn(seed), 9, 3, 60, ["allocate", "append", "fork", "free"])
    manager, mine, there = (
        BlockManager(num_blocks, size, prefix_caching=False, watermark=0.0),
        OURS["Blocks"](num_blocks, size),
        {},
    )
    for method, name, *rest in commands:
        came, copies = getattr(mine, method)(name, *rest), []
        if method == "allocate":
            there[name] = sequence(name, [1] * max(rest[0], 1))
            manager.grow(there[name], rest[0])
            there[name].num_computed_tokens = rest[0]
        elif method == "append":
            copies = manager.grow(there[name], 1)
            manager.commit(there[name], 1)
        elif method == "fork":
            there[rest[0]] = sequence(rest[0], [1])
            manager.fork(there[name], there[rest[0]])
            there[rest[0]].num_computed_tokens = there[name].num_computed_tokens
        else:
            manager.free(there.pop(name))
        manager.check(list(there.values()))
        assert mine.num_free == manager.num_free_blocks and (came is not None) == bool(copies)
        assert {one: len(table) for one, table in mine.tables.items()} == {
            one: len(other.block_table) for one, other in there.items()
        }
    with pytest.raises(OutOfBlocks):
        manager.grow(sequence("large", [1] * 99), 99)


def test_keys_are_equal_where_the_courses_are():
    """The prefixes that the engine finds are those whose keys are known here."""
    texts = [
        [5, 1, 7, 7, 9, 9],
        [5, 1, 7, 7, 2],
        [1, 5, 7, 7, 9, 9],
        [5, 1],
        [5, 1, 7, 7, 9, 9, 3, 3, 8],
    ]
    manager, known = BlockManager(40, 2), set()
    for number, ids in enumerate(texts):
        keys, one = OURS["block_keys"](ids, 2, b""), sequence(str(number), ids)
        run = 0
        while run < (len(ids) - 1) // 2 and keys[run] in known:
            run += 1
        assert len(manager.find_prefix(ids)) == run
        manager.admit(one)
        manager.grow(one, len(ids) - one.num_computed_tokens)
        manager.commit(one, len(ids) - one.num_computed_tokens)
        known |= set(keys)


@pytest.mark.parametrize(
    "name, make, runs",
    [
        (
            "Blocks",
            BlocksModel,
            lambda seed: walk(drawn(seed), 5, 2, 40, ["allocate", "append", "fork", "free"], True),
        ),
        ("PrefixCache", PrefixModel, lambda seed: visits(drawn(seed), 4, 2, 40, overfull=True)),
    ],
)
def test_random_runs_of_the_reference_go_right(name, make, runs):
    for seed in range(20):
        assert play(LocalStudent(OURS), name, make, runs(seed), refusals=True) is None


def test_the_shortest_run_is_drawn():
    def shown(exercise: str, mistake: str) -> tuple[str, int]:
        one = FOURTEEN.exercises[exercise]
        detail = first_failure(
            run_exercise(
                one, LocalStudent(namespace_of(f"mistake:{mistake}", one)), mistakes=[]
            ).stages
        ).detail
        return detail, int(re.search(r"tried: (\d+) command", detail)[1])

    for exercise, mistake, length in (
        ("14.Blocks", "always-one-more", 1),
        ("14.Blocks", "a-block-early", 2),
        ("14.Blocks", "never-free-again", 2),
        ("14.Blocks", "list-not-copied", 3),
        ("14.Blocks", "writes-into-shared", 3),
        ("14.Blocks", "freed-while-shared", 3),
        ("14.Blocks", "count-not-lowered", 4),
        ("14.Blocks", "dropped-before-refused", 4),
        ("14.PrefixCache", "key-survives", 7),
    ):
        detail, found = shown(exercise, mistake)
        assert found == length, (mistake, detail)
        assert (
            detail.count("\n") >= length + 1 or re.search(r"\d more lines?\n", detail)
        ) and "<- here" in detail
    assert "fork('a', 'b')              a -  b -      1" in shown("14.Blocks", "list-not-copied")[0]


def test_caches_are_written_and_read_as_the_courses_kernels_do():
    student, chance = LocalStudent(OURS), drawn(3)
    k, v, cache = (
        torch.randn(5, 3, 32, generator=chance),
        torch.randn(5, 3, 32, generator=chance),
        torch.randn(2, 7, 4, 3, 32, generator=chance),
    )
    places, theirs = torch.tensor([3, -1, 27, 8, 0]), cache.clone()
    store_kv(k, v, *theirs, places)
    after = student.kernel("write_kv", k, v, Buffer(cache[0]), Buffer(cache[1]), places)
    assert torch.equal(after.args[2].values, theirs[0]) and torch.equal(
        after.args[3].values, theirs[1]
    )
    q, tables, lengths = (
        torch.randn(2, 6, 32, generator=chance),
        torch.tensor([[5, 1, 3], [6, 0, -1]], dtype=torch.int32),
        torch.tensor([11, 6], dtype=torch.int32),
    )
    rival = paged_attention(q, *theirs, tables, lengths, 32**-0.5)
    for number in (1, 2, 5):
        split = student.kernel(
            "decode_shares",
            q,
            Buffer(theirs[0]),
            Buffer(theirs[1]),
            tables,
            lengths,
            Buffer(torch.zeros(2, 6, number, 32)),
            Buffer(torch.zeros(2, 6, number)),
        )
        out = (
            student.kernel(
                "merge_shares",
                split.args[5].values,
                split.args[6].values,
                Buffer(torch.zeros(2, 6, 32)),
            )
            .args[2]
            .values
        )
        assert_close(out, rival, rtol=1e-4, atol=1e-5)
    rows = [(5, 0), (5, 1), (5, 2), (5, 3), (1, 0), (1, 1), (1, 2), (1, 3), (3, 0), (3, 1), (3, 2)]
    keys, values = (torch.stack([one[row] for row in rows], 1) for one in theirs)
    assert_close(
        rival[0], scaled_dot_product_attention(q[0, :, None], keys, values, enable_gqa=True)[:, 0]
    )


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    import hashlib

    from reference_impl.kernels.backend import tl, triton

    names: dict = {"torch": torch, "hashlib": hashlib}
    codes = {
        id: re.findall(r"```python\n(.*?)```", FOURTEEN.hints(id)[2].text, re.DOTALL)
        for id in FOURTEEN.exercises
    }
    for id, found in codes.items():
        for code in found:
            if "@triton.jit" not in code:
                exec(code, names)
            else:
                compile(code, id, "exec")
    assert names["tables_for"]([5, 2], 4) == {"tables": 3, "free seats": 5}
    assert names["sheets"]([1, 0], [0, 3], 2) == [2, 1]
    library = names["Library"](1)
    library.lend("a")
    library.join("a", "b")
    library.leave("a")
    with pytest.raises(ValueError, match="out"):
        library.lend("c")
    library.leave("b")
    library.lend("c")
    assert names["stamps"](["a", "b"])[1] != names["stamps"](["c", "b"])[1]
    cups = names["Cups"]()
    cups.put_down("a", 1)
    cups.put_down("b", 2)
    assert (cups.need_one(), cups.pick_up("a"), cups.pick_up("b")) == (1, None, 2)
    assert (
        triton
        and tl
        and sum("@triton.jit" in code for found in codes.values() for code in found) == 3
    )


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = FOURTEEN.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, exercise.function: function}), mistakes=[]
    )
    assert any("withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages)
    return result.earned


def test_the_courses_answers_are_refused_in_words():
    from reference_impl.measure import cache_bytes

    def by_the_course(lengths, block_size, room, layers, heads, kv_heads, head_dim, bits):
        return {
            "token": cache_bytes.bytes_per_token(layers, kv_heads, head_dim, torch.float16),
            "contiguous": 0,
            "paged": 0,
            "empty": 0.0,
        }

    assert through("predict_pool", by_the_course) == 0
    assert through("Blocks", lambda number, size: BlockManager(number, size)) == 0
    assert (
        through(
            "write_kv",
            lambda k, v, k_cache, v_cache, slots: store_kv(k, v, k_cache, v_cache, slots),
        )
        == 0
    )


@pytest.fixture(scope="module")
def real() -> dict:
    """The notebook's last part, with right answers in the place of the student's."""
    names = dict(OURS)
    for cell in ("real-engine", "real-forks", "real-users"):
        exec(FOURTEEN.cells[cell][0].source, names)
    return names


def test_a_small_gpt_goes_on_in_four_ways_and_says_what_it_says(real):
    small = small_model("gpt_kjv")
    prompt, endings = (
        list(small.tokenizer.encode("And the king said unto ")),
        [list(small.tokenizer.encode(word)) for word in ("David", "me", "the people")],
    )
    with Switch():
        yours = real["in_four_ways"](small.model, prompt, endings, 3)
    theirs, read = real["plainly"](small.model, [prompt + ending for ending in endings], 3)
    assert yours["said"] == theirs and yours["read"] == read - 2 * len(prompt)
    assert yours["free"] == 64 and yours["copies"] == (2 if len(prompt) % 4 else 0)


def test_users_of_one_beginning_read_it_once(real):
    small = small_model("gpt_kjv")
    prompts = [
        list(small.tokenizer.encode(f"And it came to pass that the king said unto {name}"))
        for name in ("David, Go", "the people, Stand")
    ]
    with Switch():
        yours = real["served"](small.model, prompts, 3, every=2)
    theirs, read = real["plainly"](small.model, prompts, 3)
    common = next(place for place, (one, other) in enumerate(zip(*prompts)) if one != other)
    assert (
        yours["said"] == theirs
        and yours["found"] == [0, common // 4 * 4]
        and yours["read"] == read - sum(yours["found"])
    )
    assert yours["again"] == (len(prompts[0]) - 1) // 4 * 4
