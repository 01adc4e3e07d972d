"""What is particular to chapter 15's exercises: cards, the reference engine and openai's own parser
as oracles, the real thing.
"""

import json
import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c15_serving_engine import load_reports
from autograder.chapters.c15_serving_engine.draft_trees import (
    Accepted,
    Tree,
    accepted,
    clear_numbers,
    drawn_parents,
    drawn_tree,
)
from autograder.chapters.c15_serving_engine.scheduling import Mirror, laid_out, planned, walked
from autograder.checks.protocol import LocalStudent, expect_frequencies, run_exercise
from reference_impl.corpora import path
from reference_impl.corpora.small_models import small_model
from reference_impl.engine.block_manager import BlockManager
from reference_impl.engine.draft_trees import DraftTree, verify_tree
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.model_runner import ModelRunner
from reference_impl.engine.scheduler import Scheduler, SchedulerConfig
from reference_impl.engine.sequence import Sequence
from reference_impl.engine.speculative import Draft
from reference_impl.engine.speculative import verify as engine_verify
from reference_impl.generation.loop import generate as reference_generate
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.generation.stopping import Stopping

FIFTEEN = assignment("15")


@pytest.fixture(scope="module")
def ours() -> dict:
    return reference("15")


def test_the_assignment_is_worth_sixty_points():
    assert FIFTEEN.points == 60


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives(ours):
    assert ours["predict_steps"]([8, 4, 3, 1], 2) == {
        "static": 11,
        "idle": 6,
        "continuous": 8,
        "wait": 7,
    }
    states = [
        {"tokens": tokens, "computed": computed, "blocks": blocks}
        for tokens, computed, blocks in ((11, 4, 3), (9, 8, 2), (6, 5, 2), (10, 0, 0), (2, 0, 0))
    ]
    assert (
        ours["plan"](states, 9, 3, 4) == ours["plan"](states, 14, 3, 4) == [(0, 7), (1, 1), (2, 1)]
    )
    assert ours["plan"](states, 14, 5, 4) == [(0, 7), (1, 1), (2, 1), (3, 5)]
    queue = ours["Queue"](4, 2)
    for name, prompt in (("a", 3), ("b", 2), ("c", 1)):
        queue.add(name, prompt)
    seen = [(queue.step(), queue.running, queue.waiting, queue.free) for _ in range(4)]
    assert seen == [
        ([("a", 3), ("b", 2), ("c", 1)], ["a", "b", "c"], [], 0),
        ([("a", 1), ("b", 1)], ["a", "b"], ["c"], 0),
        ([("a", 1)], ["a"], ["b", "c"], 1),
        ([("a", 1)], ["a"], ["b", "c"], 1),
    ]
    assert queue.finish("a") == 4 and queue.step() == [("b", 4), ("c", 2)]
    rows = ours["prepare"](
        [
            {"ids": [3, 1, 4, 1, 5, 9], "computed": 2, "count": 4, "table": [1, 3]},
            {"ids": [7, 9, 8, 7, 2], "computed": 4, "count": 1, "table": [2, 0]},
        ],
        4,
    )
    assert [row.tolist() for row in rows] == [
        [2, 4, 1, 5, 9],
        [4, 2, 3, 4, 5],
        [0, 6, 7, 12, 13],
        [5, 6],
        [0, 1, 5],
    ]
    p, q = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), torch.tensor([[0.25, 0.5, 0.25]])
    assert ours["verify"](p, q, [1], torch.tensor([0.4, 0.6])) == [1, 2] and ours["verify"](
        p, q, [1], torch.tensor([0.6, 0.9])
    ) == [0]
    rows = torch.tensor([[7 / 16, 4 / 16, 5 / 16], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])
    draft = torch.tensor([0.25, 0.5, 0.25]).expand(3, 3)
    walk = lambda u: ours["accept_tree"]([-1, -1], [1, 2], rows, draft, torch.tensor(u))
    assert walk([0.6, 0.4, 0.3]) == ([1], 1) and walk([0.6, 0.8, 0.3]) == ([], 0)
    streamer = ours["Streamer"]([b"Hi", b" Us", b"er:", b"\xc3", b"\xa9"], ["User:"])
    assert [streamer.add(id) for id in (0, 1, 3, 4, 1)] == [
        "Hi",
        " ",
        "",
        "Usé",
        " ",
    ] and not streamer.stopped
    assert streamer.add(2) == "" and streamer.stopped
    tokens = iter([("Hé", None), ("", "stop")])
    assert len(list(ours["sse"]({"id": "1"}, lambda: next(tokens), None))) == 4
    one = {"due": 1.0, "sent": 3.0, "first": 4.0, "last": 6.0, "tokens": 5, "places": 8}
    for report in load_reports.RIGHT:
        assert report([one], 0.0) == pytest.approx(
            {"first_p95": 3.0, "per_token": 0.5, "per_second": 1.0}, rel=1e-9
        )
    assert load_reports.making(start="sent")([one], 0.0)["first_p95"] == 1.0


def test_the_oracles_of_the_checks_agree_with_the_reference_on_drawn_cases(ours):
    chance = random.Random(1)
    for _ in range(300):
        answers, slots = (
            [chance.randint(1, 12) for _ in range(chance.randint(0, 20))],
            chance.randint(1, 9),
        )
        assert ours["predict_steps"](answers, slots) == walked(answers, slots)
        size, states = chance.randint(1, 5), []
        for _ in range(chance.randint(0, 9)):
            tokens = chance.randint(1, 30)
            computed = chance.choice([0, tokens - 1, chance.randint(0, tokens - 1)])
            blocks = (
                max(1, -(-(tokens if tokens - computed > 1 else computed) // size))
                if computed or chance.random() < 0.5
                else 0
            )
            states.append({"tokens": tokens, "computed": computed, "blocks": blocks})
        budget, free = (
            max(1, sum(one["blocks"] > 0 for one in states)) + chance.randint(0, 30),
            chance.randint(0, 12),
        )
        given = ours["plan"](states, budget, free, size)
        assert (
            given == planned(states, budget, free, size)
            and sum(tokens for _, tokens in given) <= budget
        )
        blocks, size = chance.randint(1, 12), chance.randint(1, 4)
        queue, mirror = ours["Queue"](blocks, size), Mirror(blocks, size)
        for turn in range(25):
            for one in [one for one in mirror.here if one[1] + one[2] >= blocks * size]:
                assert queue.finish(one[0]) == mirror.leave(one[0])
            if chance.random() < 0.4:
                prompt = chance.randint(1, max(1, blocks * size // 2))
                queue.add(str(turn), prompt), mirror.add(str(turn), prompt)
            assert queue.step() == mirror.step() and (queue.free, queue.running, queue.waiting) == (
                mirror.free,
                mirror.running,
                mirror.waiting,
            )


def test_the_longest_running_request_is_never_put_back_and_nothing_is_lost(ours):
    """The invariants behind the card: the first that came always computes; computed tokens are
    those it has.
    """
    chance, queue, steps = random.Random(4), ours["Queue"](6, 2), 0
    lengths = {f"r{i}": chance.randint(1, 6) for i in range(9)}
    for name in lengths:
        queue.add(name, 3)
    said, finished = dict.fromkeys(lengths, 0), []
    while len(finished) < len(lengths):
        steps += 1
        first = next(name for name in lengths if name not in finished)
        done = queue.step()
        assert done[0][0] == first and steps < 200
        for name, tokens in done:
            assert tokens in (1, 3 + said[name])
            said[name] += 1
            if said[name] == lengths[name]:
                assert queue.finish(name) == lengths[name]
                finished.append(name)
    assert queue.free == 6


def test_the_rows_are_the_model_runner_s(ours):
    gpt = small_model("gpt_kjv").model
    blocks, chance = BlockManager(60, 4, prefix_caching=False), random.Random(6)
    scheduler, runner = (
        Scheduler(
            SchedulerConfig(max_num_seqs=8, max_num_batched_tokens=11, max_model_len=90), blocks
        ),
        ModelRunner(gpt, 60, 4),
    )
    for number in range(4):
        scheduler.add(
            Sequence(
                str(number),
                [chance.randint(0, 300) for _ in range(5 + 4 * number)],
                SamplingParams(max_tokens=9),
            )
        )
    kinds = set()
    for _ in range(12):
        step = scheduler.schedule()
        prepared = runner.prepare(step)
        many = [
            {
                "ids": list(one.sequence.ids),
                "computed": one.sequence.num_computed_tokens,
                "count": one.num_tokens,
                "table": list(one.sequence.block_table),
            }
            for one in step.scheduled
        ]
        ids, positions, slots, lengths, ends = ours["prepare"](many, 4)
        assert [row.tolist() for row in (ids, positions, slots, lengths, ends)] == list(
            map(list, laid_out(many, 4))
        )
        layout, n = prepared.layout, prepared.layout.num_decodes
        assert (
            ids.tolist() == prepared.ids
            and torch.equal(positions, prepared.positions)
            and torch.equal(slots, layout.slot_mapping)
            and lengths.tolist() == layout.context_lens.tolist()
        )
        if n < len(many):
            assert (ends[n:] - ends[n]).tolist() == layout.cu_seqlens_prefill.tolist()
        kinds.add((n > 0, n < len(many)))
        for one in step.scheduled:
            samples = one.samples
            blocks.commit(one.sequence, one.num_tokens)
            if samples:
                one.sequence.append(chance.randint(0, 300))
    assert kinds == {(True, True), (False, True), (True, False)}


def test_verify_has_the_distribution_of_the_engine_s(ours):
    """Both against the distribution itself, each with a million to one against a false alarm."""
    generator = torch.Generator().manual_seed(5)
    p, q = torch.tensor([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5]]), torch.tensor([[0.25, 0.5, 0.25]])
    counts = {"ours": [0, 0, 0], "the engine's": [0, 0, 0]}
    lengths = 0
    for guess in q[0].multinomial(4000, replacement=True, generator=generator).tolist():
        said = ours["verify"](p, q, [guess], torch.rand(2, generator=generator))
        counts["ours"][said[0]] += 1
        lengths += len(said)
        counts["the engine's"][engine_verify(p, Draft([guess], q), generator)[0]] += 1
    for found in counts.values():
        expect_frequencies(found, p[0], cause="not the model's distribution")
    assert abs(lengths / 4000 - 1.75) < 0.05


def test_greedy_verdicts_are_the_engine_s(ours):
    chance = random.Random(3)
    for _ in range(100):
        k, V = chance.randint(0, 5), chance.randint(1, 6)
        best, guesses = (
            [chance.randrange(V) for _ in range(k + 1)],
            [chance.randrange(V) for _ in range(k)],
        )
        p = torch.nn.functional.one_hot(torch.tensor(best), V).float()
        q = torch.nn.functional.one_hot(torch.tensor(guesses, dtype=torch.int64), V).float()
        assert ours["verify"](p, q, guesses, torch.rand(k + 1).clamp(max=0.999)) == engine_verify(
            p, Draft(guesses), None
        )


def of_the_engine(tree: Tree) -> DraftTree:
    """The same tree as the engine's: each node with the distribution it was drawn from."""
    rows = []
    for node, parent in enumerate(tree.parents):
        before = [tree.tokens[one] for one in range(node) if tree.parents[one] == parent]
        row = tree.q[parent + 1].double()
        row[before] = 0
        rows.append(row / row.sum())
    return DraftTree(tree.tokens, tree.parents, torch.stack(rows) if rows else tree.q[:0])


def test_accept_tree_goes_the_way_of_the_engine_s_verify_tree(ours, monkeypatch):
    """The engine draws one number per tested node; its last draw is replaced by `u[N]`."""
    rng, lengths = torch.Generator().manual_seed(8), set()
    for number in range(200):
        tree = drawn_tree(rng, drawn_parents(rng, number % 13), 5)
        u = clear_numbers(rng, tree)
        if u is None:
            continue
        path, token = ours["accept_tree"](
            tree.parents, tree.tokens, tree.p, tree.q, torch.tensor(u)
        )
        tested = nodes_tested(tree.parents, path)
        seen = iter([u[node] for node in tested])
        monkeypatch.setattr(torch, "rand", lambda *a, seen=seen, **k: torch.tensor(next(seen)))
        last = lambda p, *a, u=u, **k: (p.double().cumsum(0) <= u[-1]).sum()
        monkeypatch.setattr(torch, "multinomial", last)
        theirs = verify_tree(tree.p.double(), of_the_engine(tree), torch.Generator())
        monkeypatch.undo()
        assert theirs == [*(tree.tokens[node] for node in path), token]
        assert next(seen, None) is None and accepted(tree, u) == Accepted(path, token, True)
        lengths.add(len(path))
    assert lengths >= {0, 1, 2, 3}


def nodes_tested(parents: list[int], path: list[int]) -> list[int]:
    """The nodes that are tested on the way along a path, in order."""
    found = []
    for node, following in zip([-1, *path], [*path, None]):
        for child, parent in enumerate(parents):
            if parent == node and (following is None or child <= following):
                found.append(child)
    return found


def test_greedy_trees_are_the_engine_s(ours):
    rng = torch.Generator().manual_seed(2)
    for number in range(60):
        tree = drawn_tree(rng, drawn_parents(rng, number % 9), 4)
        p = torch.eye(4)[torch.randint(4, (len(tree.parents) + 1,), generator=rng)]
        u = torch.rand(len(tree.parents) + 1, generator=rng).clamp(max=0.999)
        path, token = ours["accept_tree"](tree.parents, tree.tokens, p, tree.q, u)
        assert verify_tree(p, of_the_engine(tree), None) == [
            *(tree.tokens[node] for node in path),
            token,
        ]


class Bytes:
    """A tokenizer whose token i is the byte i."""

    def decode(self, ids):
        return bytes(ids).decode(errors="replace")


def test_the_streamer_shows_what_the_course_s_stopping_shows(ours):
    chance = random.Random(9)
    for stop in (["ab", "bca"], ["é", "aé"], ["\n\n"], ["aaab", "b"]):
        for _ in range(40):
            data = "".join(chance.choice("abcé\n") for _ in range(15)).encode()
            streamer, theirs = (
                ours["Streamer"]([bytes([byte]) for byte in range(256)], stop),
                Stopping(SamplingParams(max_tokens=1000, stop=tuple(stop)), (), Bytes()),
            )
            for byte in data:
                step = theirs.add(byte)
                assert streamer.add(byte) == step.text and streamer.stopped == (
                    step.reason == "stop"
                )
                if streamer.stopped:
                    break


def test_openai_s_own_parser_reads_the_events_and_its_types_take_them(ours):
    from openai._streaming import SSEDecoder
    from openai.types.chat import ChatCompletionChunk

    tokens = iter([("Hé", None), ("", None), ('\n"x"', None), ("", "length")])
    head = {"id": "1", "object": "chat.completion.chunk", "created": 3, "model": "small"}
    data = b"".join(ours["sse"](head, lambda: next(tokens), 7))
    events = list(SSEDecoder().iter_bytes(iter([data[:37], data[37:]])))
    assert events[-1].data == "[DONE]" and not any(event.event or event.id for event in events)
    chunks = [
        ChatCompletionChunk.model_validate(json.loads(event.data), strict=True)
        for event in events[:-1]
    ]
    assert (
        "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        == 'Hé\n"x"'
    )
    assert (
        chunks[0].choices[0].delta.role == "assistant"
        and chunks[-2].choices[0].finish_reason == "length"
        and chunks[-1].usage.total_tokens == 11
    )
    broken = b"".join(event[:-1] for event in ours["sse"](head, lambda: ("x", "stop"), None))
    assert (
        len(list(SSEDecoder().iter_bytes(iter([broken])))) < 2
    )  # one line break: no event is ever complete


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names = {"torch": torch}
    for id in FIFTEEN.exercises:
        for code in re.findall(r"```python\n(.*?)```", FIFTEEN.hints(id)[2].text, re.DOTALL):
            exec(compile(code, id, "exec"), names)
    assert names["empty_again"]([2, 2, 5], 2) == 7
    assert names["eggs"]([{"regular": False, "wants": 3}, {"regular": True, "wants": 1}], 3) == [
        (0, 2),
        (1, 1),
    ]
    park = names["CarPark"](3)
    for name, size in (("lorry", 2), ("bus", 2), ("car", 1)):
        park.arrive(name, size)
    park.open_gate()
    assert (park.parked, park.waiting, park.free) == (["lorry"], ["bus", "car"], 1)
    assert names["nights"]([{"rooms": [3, 12]}, {"rooms": [25]}], 10) == ([0, 1, 2], [0, 2, 3])
    assert names["spin"](torch.tensor([1.0, 2.0, 1.0]), 1, 0.6) == 2
    assert names["route"]([-1, -1, 1], [3, 4, 2], 5) == ([1], 4)
    lines = names["Lines"]()
    assert (lines.add("one\r"), lines.add("\ntwo")) == ("one", "\ntwo")
    left = iter([(20, False), (21, True)])
    assert len(list(names["log"]({"at": "hill"}, lambda: next(left)))) == 3
    names["test_mean_mark"](
        lambda marks: (
            sum(there) / len(there)
            if (there := [mark for mark in marks if mark is not None])
            else 0.0
        )
    )
    with pytest.raises(AssertionError):
        names["test_mean_mark"](lambda marks: sum(mark or 0 for mark in marks) / len(marks))


def test_the_write_tests_candidates_keep_and_break_what_the_card_says(ours):
    for candidate in load_reports.RIGHT:
        ours["test_load"](candidate)
    for kind in load_reports.WRONG.values():
        for candidate in kind:
            with pytest.raises(AssertionError):
                ours["test_load"](candidate)


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = FIFTEEN.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**reference("15"), exercise.function: function}), mistakes=[]
    )
    assert any("withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages)
    return result.earned


def test_the_courses_answers_are_refused_in_words():
    class ByTheCourse:
        def __init__(self, pieces, stop):
            from reference_impl.generation.stopping import StopStrings

            self.strings = StopStrings(stop)

        def add(self, id):
            return self.strings.add("x")[0]

    assert through("Streamer", ByTheCourse) == 0
    assert (
        through("verify", lambda p, q, guesses, u: engine_verify(p, Draft(guesses, q), None)) == 0
    )

    def by_the_engine(parents, tokens, p, q, u):
        return verify_tree(p, DraftTree(tokens, parents, q[:-1]), None)

    assert through("accept_tree", by_the_engine) == 0


def test_the_students_queue_serves_verses_in_little_memory():
    names = dict(reference("15"))
    exec(FIFTEEN.cells["real-queue"][0].source, names)
    gpt, params = small_model("gpt_kjv"), SamplingParams(temperature=0.0, max_tokens=16)
    prompts = [
        list(gpt.tokenizer.encode(text)) for text in ("In the beginning ", "The river ", "Blessed ")
    ]
    engine = Engine(
        gpt.model,
        EngineConfig(
            num_blocks=9,
            block_size=4,
            prefix_caching=False,
            scheduler=SchedulerConfig(max_num_batched_tokens=256, max_model_len=36),
        ),
    )
    engine.scheduler = names["ByYourQueue"](engine.config.scheduler, engine.blocks)
    assert [each[0].ids for each in engine.generate(prompts, params)] == [
        list(reference_generate(gpt.model, [prompt], params)[0].ids) for prompt in prompts
    ]
    assert (
        engine.num_preemptions
        and engine.blocks.num_free_blocks == 9
        and not engine.scheduler.queue.running
    )


def test_the_students_parts_serve_smollm2_to_two_clients():
    """The notebook's own cells, with two short questions: openai's client and Python's library."""
    names = dict(reference("15"))
    for cell in ("real-queue", "real-server", "real-client"):
        exec(FIFTEEN.cells[cell][0].source, names)
    assert names["ask"] is names["by_openai"]
    served, questions = (
        names["load_served"](next(path("smollm2").glob("*.gguf"))),
        ["Name three trees.", "Say hello."],
    )
    with (
        names["serving"](served, served.render_chat) as (engine, address),
        ThreadPoolExecutor(2) as clients,
    ):
        answers = [
            list(clients.map(lambda question: names[ask](address, question, 4), questions))
            for ask in ("by_openai", "by_urllib")
        ]
    assert answers[0] == answers[1] and [count for _, count in answers[0]] == [4, 4]
    prompts = [
        list(
            served.tokenizer.encode(
                served.render_chat([{"role": "user", "content": question}]), add_specials=False
            ).ids
        )
        for question in questions
    ]
    theirs = [
        list(
            reference_generate(
                served.model,
                [prompt],
                SamplingParams(temperature=0.0, max_tokens=4),
                eos_ids=served.eos_ids,
            )[0].ids
        )
        for prompt in prompts
    ]
    assert sorted(names["YourText"].seen) == sorted(2 * theirs)
    assert ["".join(pieces) for pieces, _ in answers[0]] == [
        served.tokenizer.decode(ids) for ids in theirs
    ]
    assert (
        any(row["num_tokens"] == 32 for row in engine.trace.rows)
        and engine.blocks.num_free_blocks == 64
    )
