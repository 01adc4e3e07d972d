"""Between the event loop and the engine's thread: outputs come, whoever goes is aborted, a failure
reaches all.
"""

import asyncio
import contextlib
import logging

import pytest

from reference_impl.engine.async_engine import AsyncEngine, EngineStopped
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams

LONG = SamplingParams(max_tokens=3000, ignore_eos=True, seed=1)


@pytest.fixture
def engine(tiny):
    return Engine(
        tiny.model,
        EngineConfig(600, scheduler=SchedulerConfig(8, 64, 4000)),
        tiny.tokenizer,
        tiny.eos_ids,
    )


async def read(stream):
    async with contextlib.aclosing(stream):
        return [output async for output in stream]


async def idle(engine):
    async with asyncio.timeout(60):
        while engine.has_work:
            await asyncio.sleep(0.01)
    engine.scheduler.check()
    assert engine.blocks.num_free_blocks == engine.blocks.num_blocks


def test_a_stream_brings_what_the_engine_says_alone(engine, tiny, run):
    params = SamplingParams(max_tokens=12, n=2, seed=3)
    prompts = [[5, 6, 7], [8] * 30]
    alone = [[completion.ids for completion in each] for each in engine.generate(prompts, params)]

    async def main():
        async with AsyncEngine(engine) as serving:
            return await asyncio.gather(
                *(read(serving.stream(str(i), prompt, params)) for i, prompt in enumerate(prompts))
            )

    for outputs, expected in zip(run(main), alone, strict=True):
        said = [
            [token.id for output in outputs if output.index == i for token in output.tokens]
            for i in range(2)
        ]
        assert said == expected


@pytest.mark.parametrize("way", ["closed", "cancelled"])
def test_a_stream_that_is_left_is_aborted(engine, way, run):
    async def main():
        async with AsyncEngine(engine) as serving:
            stream = serving.stream("long", [5, 6, 7], LONG)
            await anext(stream)
            assert serving.num_requests == 1
            if way == "closed":
                await stream.aclose()
            else:
                task = asyncio.ensure_future(read(stream))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert serving.num_requests == 0
            await idle(engine)
            assert (
                len(
                    await read(
                        serving.stream("after", [5], SamplingParams(max_tokens=3, ignore_eos=True))
                    )
                )
                == 3
            )

    run(main)


def test_time_is_up_even_for_a_reader_that_finds_outputs_whenever_it_comes(engine, run):
    async def main():
        async with AsyncEngine(engine) as serving:
            with pytest.raises(TimeoutError):
                await read(serving.stream("long", [5], LONG, seconds=0.1))
            stream = serving.stream("slow reader", [5], LONG, seconds=0.3)
            with pytest.raises(TimeoutError):
                while True:
                    await anext(stream)
                    await asyncio.sleep(0.05)
            await idle(engine)

    run(main)


def test_what_the_engine_refuses_is_raised_in_the_stream(engine, run):
    async def main():
        async with AsyncEngine(engine) as serving:
            with pytest.raises(ValueError, match="vocabulary"):
                await read(serving.stream("wrong", [5000], LONG))
            first = serving.stream("twice", [5], LONG)
            await anext(first)
            with pytest.raises(ValueError, match="'twice' is being served"):
                await read(serving.stream("twice", [5], LONG))
            assert serving.num_requests == 1 and serving.is_healthy
            await first.aclose()

    run(main)


def test_a_failure_in_a_step_reaches_all_streams_and_those_to_come(engine, caplog, run):
    async def main():
        async with AsyncEngine(engine) as serving:
            streams = [serving.stream(str(i), [5], LONG) for i in range(3)]
            for stream in streams:
                await anext(stream)
            engine.step = None  # calling it fails
            for stream in streams:
                with pytest.raises(EngineStopped, match="log says why"):
                    await read(stream)
            assert not serving.is_healthy
            with pytest.raises(EngineStopped):
                await read(serving.stream("late", [5], LONG))

    with caplog.at_level(logging.ERROR):
        run(main)
    assert "TypeError" in caplog.text  # the reason stands in the log


def test_who_still_waits_when_the_engine_is_stopped_is_told(engine, run):
    async def main():
        async with AsyncEngine(engine) as serving:
            stream = serving.stream("long", [5], LONG)
            await anext(stream)
            serving.stop()
            with pytest.raises(EngineStopped, match="shutting down"):
                await read(stream)
        assert not serving.is_healthy

    run(main)
