"""A tiny LLaMA in a folder, as `transformers` and `tokenizers` write one, and servers on it, each
in a thread.
"""

import asyncio
import contextlib
import copy
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai
import pytest
import tokenizers
import torch
import transformers
from prometheus_client.parser import text_string_to_metric_families

from reference_impl.engine.connections import make_server
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.limits import Limits
from reference_impl.engine.loading import load
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.server import Served, create_app

PATIENCE = 60.0  # seconds until a test gives up; how long things take is not what is tested
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIZES = {
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 32,
    "intermediate_size": 40,
    "vocab_size": 259,
    "max_position_embeddings": 4096,
}


def wait_until(condition, what):
    """Wait until the condition holds; fail with the words if it never does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def run():
    """Runs a coroutine function in a thread of its own: other tests' browser leaves a loop running
    in this one.
    """

    def in_thread(main):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(main())).result()

    return in_thread


@pytest.fixture(scope="session")
def eventually():
    return wait_until


def write_tokenizer(folder):
    """Byte-level, without merges: a token a byte, ids 0 to 2 are special."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    library = tokenizers.Tokenizer(
        tokenizers.models.BPE({t: i for i, t in enumerate(SPECIALS + alphabet)}, [])
    )
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = tokenizers.decoders.ByteLevel()
    library.add_special_tokens(SPECIALS)
    library.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": "<|im_end|>", "bos_token": None, "chat_template": TEMPLATE})
    )


def random_weights(model, std=0.3):
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * std)
    return model.eval()


@pytest.fixture(scope="session")
def their_tiny():
    """The model as `transformers` has it."""
    config = transformers.LlamaConfig(
        **SIZES,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=[0, 2],
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
    )
    return random_weights(transformers.LlamaForCausalLM(config))


@pytest.fixture(scope="session")
def tiny_folder(their_tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    their_tiny.save_pretrained(folder)
    write_tokenizer(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder):
    return load(tiny_folder)


class Running:
    """A server in a thread, and what a test wants to know about it."""

    def __init__(self, engine, serving, server, port):
        self.engine, self.serving, self.server, self.port = engine, serving, server, port
        self.http = httpx.Client(timeout=PATIENCE, limits=httpx.Limits(max_keepalive_connections=0))
        self.url = f"http://127.0.0.1:{port}"
        self._gate, step = threading.Event(), engine.step
        self._gate.set()
        self.failure = None

        def gated():
            self._gate.wait()
            if self.failure is not None:
                raise self.failure
            return step()

        engine.step = gated

    def hold(self):
        """Let no step begin until `release`."""
        self._gate.clear()

    def release(self):
        self._gate.set()

    def client(self, **options):
        return openai.OpenAI(
            base_url=f"{self.url}/v1",
            **{"api_key": "none", "max_retries": 0, "timeout": PATIENCE, **options},
        )

    def post(self, path, **options):
        return self.http.post(self.url + path, **options)

    def get(self, path, **options):
        return self.http.get(self.url + path, **options)

    def connect(self):
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def metric(self, name, **labels):
        families = text_string_to_metric_families(self.get("/metrics").text)
        return sum(
            sample.value
            for family in families
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    @property
    def num_connections(self):
        return len(self.server.server_state.connections)

    @property
    def is_idle(self):
        return (
            not self.engine.has_work
            and self.engine.blocks.num_free_blocks == self.engine.blocks.num_blocks
        )

    def wait_until_idle(self):
        wait_until(lambda: self.is_idle, "all blocks free")
        self.engine.scheduler.check()


@pytest.fixture(scope="session")
def start(tiny):
    """Start a server on the tiny model: `with start(limits=..., num_blocks=...) as running`."""

    @contextlib.contextmanager
    def start(
        limits=Limits(),
        num_blocks=600,
        proposer=None,
        encoder=None,
        render_chat=tiny.render_chat,
        api_key=None,
        num_speculative_tokens=0,
        tells_cached=False,
        adapters=None,
        name="tiny",
        page=False,
        on_step=None,
        trace_steps=10_000,
        **scheduler,
    ):
        config = EngineConfig(
            num_blocks,
            16,
            num_speculative_tokens=num_speculative_tokens,
            trace_steps=trace_steps,
            scheduler=SchedulerConfig(
                **{
                    "max_num_seqs": 16,
                    "max_num_batched_tokens": 128,
                    "max_model_len": 4096,
                    **scheduler,
                }
            ),
        )
        model = (
            copy.deepcopy(tiny.model) if adapters else tiny.model
        )  # adapters change the model's layers
        engine = Engine(model, config, tiny.tokenizer, tiny.eos_ids, proposer, adapters)
        served = Served(
            engine,
            name,
            render_chat,
            encoder,
            "encoder",
            api_key,
            tells_cached,
            limits,
            page=page,
            on_step=on_step,
        )
        listening = socket.socket()
        listening.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384
        )  # soon full, if nobody reads
        listening.bind(("127.0.0.1", 0))
        app = create_app(served)
        server = make_server(app, limits)
        running = Running(engine, app.state.serving, server, listening.getsockname()[1])
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_until(lambda: server.started, "the server starts")
            yield running
        finally:
            running.release()
            running.http.close()
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()

    return start


@pytest.fixture(scope="module")
def running(start):
    with start() as running:
        yield running
        running.wait_until_idle()


@pytest.fixture(scope="module")
def client(running):
    with running.client() as client:
        yield client
