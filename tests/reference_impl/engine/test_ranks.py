"""A model in two processes: `course serve --tensor-parallel-size 2` and torchrun say the tokens of
one process.
"""

import os
import random
import re
import signal
import subprocess
import sys

import openai
import pytest
import torch

from course.cli import main
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.model_runner import ModelRunner
from reference_impl.engine.ranks import pack, unpack
from reference_impl.engine.scheduler import Move, SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams

COURSE = ("-m", "course.cli")
TORCHRUN = (
    "-m",
    "torch.distributed.run",
    "--standalone",
    "--nproc-per-node",
    "2",
    "-m",
    "course.cli",
)


@pytest.fixture
def served(tiny_folder):
    """Start a server in two processes on the tiny model; its process and a client."""
    started = []

    def start(launcher, *arguments):
        process = subprocess.Popen(
            [
                sys.executable,
                *launcher,
                "serve",
                str(tiny_folder),
                "--port",
                "0",
                "--num-blocks",
                "16",
                "--max-model-len",
                "200",
                "--max-num-batched-tokens",
                "64",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        started.append(process)
        said = ""
        while not (found := re.search(r"serving at +(http://\S+)", said)):
            line = process.stdout.readline()
            assert line, f"it ended: {said}"
            said += line
        return (
            process,
            openai.OpenAI(base_url=found.group(1), api_key="none", max_retries=0, timeout=60),
            said,
        )

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def prompts():
    draw = random.Random(3)
    return ["".join(draw.choices("abcdefgh .", k=length)) for length in (1, 5, 17, 90, 130)]


def tokens_of_one_process(tiny):
    config = EngineConfig(200, scheduler=SchedulerConfig(max_model_len=400))
    said = Engine(tiny.model, config, tiny.tokenizer, tiny.eos_ids).generate(
        prompts(), SamplingParams(temperature=0, max_tokens=24, ignore_eos=True)
    )
    return [answer.text for [answer] in said]


def ended(process):
    rest, _ = process.communicate(timeout=60)
    return rest


@pytest.mark.parametrize("launcher", [COURSE, TORCHRUN], ids=["course serve", "torchrun"])
def test_two_processes_say_the_tokens_of_one_and_end_in_words(launcher, served, tiny):
    options = ["--tensor-parallel-size", "2"] if launcher is COURSE else []
    process, client, said = served(launcher, "--swap-space", "0.01", *options)
    assert "in each of 2 processes" in said
    # More than fits into 16 blocks: sequences are preempted, and their blocks are moved in both
    # caches.
    answer = client.completions.create(
        model="tiny",
        prompt=prompts(),
        max_tokens=24,
        temperature=0,
        extra_body={"ignore_eos": True},
    )
    assert [choice.text for choice in answer.choices] == tokens_of_one_process(tiny)
    if launcher is TORCHRUN:
        process.send_signal(signal.SIGINT)
        assert "course serve: ended" in ended(process)
        return
    [child] = other_ranks(process)
    os.kill(child, signal.SIGKILL)
    rest = ended(process)
    assert (
        "rank 1 of 2 was ended by SIGKILL" in rest
        and "Traceback" not in rest
        and process.returncode == 1
    )


def other_ranks(process):
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True
    ).stdout
    return [int(pid) for pid in children.split() if is_rank(int(pid))]


def is_rank(pid):
    try:
        return b"engine.ranks" in open(f"/proc/{pid}/cmdline", "rb").read()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_the_other_rank_ends_with_the_first(ending, served, eventually):
    process, _, _ = served(COURSE, "--tensor-parallel-size", "2")
    [child] = other_ranks(process)
    process.send_signal(ending)
    eventually(lambda: not is_rank(child), "the other rank ended")
    if ending is signal.SIGTERM:
        assert ended(process).endswith("course serve: ended\n") and process.returncode == 0


def test_a_step_arrives_as_it_was_sent(tiny):
    """Steps of all kinds, of an engine that preempts, swaps and reads prompts in pieces."""
    config = EngineConfig(24, 4, scheduler=SchedulerConfig(8, 24, 80, num_host_blocks=24))
    engine, steps, draw = Engine(tiny.model, config), [], random.Random(0)
    compute = engine.runner.compute

    def kept(prepared):
        steps.append(prepared)
        return compute(prepared)

    engine.runner.compute = kept
    for length in (3, 30, 9, 14):
        engine.add_request(
            [draw.randrange(3, 200) for _ in range(length)],
            SamplingParams(temperature=0, max_tokens=30, ignore_eos=True),
        )
    while engine.has_work:
        engine.step()
    assert {move.kind for prepared in steps for move in prepared.step.moves} >= {"out", "in"}
    for prepared in steps:
        arrived = unpack(pack(prepared), torch.device("cpu"))
        assert arrived.step.moves == prepared.step.moves and all(
            isinstance(move, Move) for move in arrived.step.moves
        )
        assert arrived.ids == prepared.ids
        if prepared.ids:
            assert torch.equal(arrived.positions, prepared.positions)
            for name, sent in vars(prepared.layout).items():
                got = getattr(arrived.layout, name)
                assert (
                    torch.equal(got, sent) and got.dtype == sent.dtype
                    if isinstance(sent, torch.Tensor)
                    else got == sent
                )


def test_a_slice_keeps_the_keys_and_values_of_its_heads(tiny):
    whole, half = (
        ModelRunner(tiny.model, 4, 16, num_shards=n).cache.bytes_per_block for n in (1, 2)
    )
    assert whole == 2 * half


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tensor-parallel-size", "0"], "--tensor-parallel-size is 0"),
        (
            ["--tensor-parallel-size", "2", "--quantization", "int8"],
            "with --quantization is not served",
        ),
        (
            ["--tensor-parallel-size", "2", "--lora-modules", "a=b"],
            "with --lora-modules is not served",
        ),
        (["--tensor-parallel-size", "2", "--device", "cuda:1"], "give cpu, or cuda (the first 2"),
        (["--tensor-parallel-size", "3"], "num_heads is 4: it can't be cut into 3 equal parts"),
    ],
)
def test_what_can_not_be_served_in_slices_is_said_in_one_line(arguments, says, tiny_folder, capfd):
    assert main(["serve", str(tiny_folder), "--port", "0", *arguments]) == 2
    said = capfd.readouterr().err.strip()
    assert says in said and "\n" not in said
