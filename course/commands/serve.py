"""`course serve`: a language model and a sentence encoder behind an HTTP port, with
OpenAI's API.
"""

import argparse
import contextlib
import errno
import ipaddress
import json
import math
import os
import signal
import socket
import sys
from pathlib import Path

from autograder.common.errors import CourseError

SUMMARY = "serve a language model over HTTP, with OpenAI's API"
KEY_VARIABLE = "WORD2SERVE_API_KEY"
TRACED_STEPS = 10_000
EPILOG = f"""\
examples:
  course serve                                  SmolLM2-135M-Instruct on port 8000, embeddings by
                                                MiniLM
  course serve ~/models/qwen3 --dtype bfloat16  a folder with config.json, weights and tokenizer
  course serve model.gguf --cache-mb 2048       a LLaMA in one file, and more room for long or many
                                                texts
  course serve --quantization int8              weights of eight bits: a quarter of the memory,
                                                quicker alone
  course serve --lora-modules polite=~/polite   a LoRA adapter, for requests whose model is "polite"
  course serve --tensor-parallel-size 2         half of the model in each of two processes
  course serve --speculate 4                    up to four draft tokens per step, from earlier parts
                                                of the text

then, with `pip install openai`:
  from openai import OpenAI
  client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none")
  for piece in client.chat.completions.create(
          model="smollm2-135m-instruct", stream=True,
          messages=[{{"role": "user", "content": "What is a river?"}}]):
      print(piece.choices[0].delta.content or "", end="")

served are /v1/completions, /v1/chat/completions, /v1/embeddings, /v1/models, /health and /metrics,
and at / a page with a chat that shows the schedule and the blocks of the cache at work. It shows
the lengths of all requests and never their texts. --no-page leaves it out, and so does
--open-to-all without a key.
Ctrl-C ends the server: answers under way get --shutdown-timeout seconds. Exit codes: 0 ended by
Ctrl-C or SIGTERM; 2 could not start; 1 a process with a slice of the model was lost.

To ask clients for a key, set {KEY_VARIABLE} in the environment. The option --api-key does the
same, but every user of this machine can read it in the list of processes. Only /health answers
without the key. Without one, requests must name this machine by an address, localhost or --host: a
web page cannot reach the server under a name of its own.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to serve, where, with how much memory, to whom."""
    parser.epilog = EPILOG
    what = parser.add_argument_group("what")
    what.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help=(
            "a .gguf file, or a folder with config.json, safetensors and tokenizer (GPT-2, LLaMA,"
            " Mistral, Qwen); default: SmolLM2-135M-Instruct, which `course download-data smollm2`"
            " brings"
        ),
    )
    what.add_argument("--name", help="what clients call it (default: the file's or folder's name)")
    what.add_argument(
        "--dtype",
        choices=("float32", "bfloat16", "float16"),
        default="float32",
        help="of weights and cache (default: float32)",
    )
    what.add_argument(
        "--quantization",
        choices=("int8",),
        help=(
            "on a CPU: keep the weights of linear layers in eight bits, a quarter of float32's,"
            " which makes decoding of few texts quicker and changes numbers by about a percent"
        ),
    )
    what.add_argument(
        "--async-scheduling",
        action="store_true",
        help=(
            "schedule the next step while one is computed; none ahead of draft tokens and"
            " structured answers"
        ),
    )
    what.add_argument(
        "--device",
        default="cpu",
        metavar="DEVICE",
        help="where the model computes: cpu, cuda, or cuda:1 (default: cpu)",
    )
    what.add_argument(
        "--tensor-parallel-size",
        type=int,
        metavar="N",
        help=(
            "cut the model into N slices, each in a process of its own (on cuda: on a GPU of its"
            " own); under torchrun: as many as it started (default: 1)"
        ),
    )
    what.add_argument(
        "--lora-modules",
        nargs="+",
        default=[],
        metavar="NAME=FOLDER",
        help="LoRA adapters as peft saves them, each chosen by its name as a request's `model`",
    )
    what.add_argument(
        "--encoder",
        metavar="FOLDER",
        help=(
            "a BERT for /v1/embeddings (default: MiniLM, if `course download-data minilm` has"
            " brought it)"
        ),
    )
    where = parser.add_argument_group("where, and to whom")
    where.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen at (default: 127.0.0.1, this machine)",
    )
    where.add_argument(
        "--port",
        type=int,
        default=8000,
        help="port (default: 8000; 0: a free one, which is printed)",
    )
    where.add_argument(
        "--api-key",
        metavar="KEY",
        help=(
            f"what clients must send; better set ${KEY_VARIABLE}, "
            "because others can read arguments (default: no key is asked for)"
        ),
    )
    where.add_argument(
        "--open-to-all",
        action="store_true",
        help="listen at an address other than this machine's own without an API key",
    )
    where.add_argument(
        "--shutdown-timeout",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="how long running requests may take to finish when the server ends (default: 5)",
    )
    where.add_argument(
        "--enable-prompt-tokens-details",
        action="store_true",
        help=(
            "report in each usage how many prompt tokens were cache hits; off by default, because"
            " it tells clients whether somebody has sent the same before"
        ),
    )
    where.add_argument(
        "--no-page", action="store_true", help="do not serve the page at / that shows the schedule"
    )
    memory = parser.add_argument_group("memory and steps")
    size = memory.add_mutually_exclusive_group()
    size.add_argument(
        "--cache-mb", type=int, metavar="MB", help="memory for keys and values (default: 512)"
    )
    size.add_argument("--num-blocks", type=int, metavar="N", help="the same, as a number of blocks")
    memory.add_argument(
        "--block-size", type=int, default=16, metavar="N", help="tokens in a block (default: 16)"
    )
    memory.add_argument(
        "--swap-space",
        type=float,
        default=0.0,
        metavar="GIB",
        help=(
            "memory on the host for preempted"
            " requests; 0: their tokens are computed again (default: 0)"
        ),
    )
    memory.add_argument(
        "--no-prefix-caching",
        action="store_true",
        help="compute every prompt in full, also if it shares a prefix with another",
    )
    memory.add_argument(
        "--cuda-graphs",
        action="store_true",
        help="on a GPU: record decoding steps once and replay them",
    )
    memory.add_argument(
        "--max-num-seqs",
        type=int,
        default=64,
        metavar="N",
        help="requests that run at the same time (default: 64)",
    )
    memory.add_argument(
        "--max-num-batched-tokens",
        type=int,
        default=512,
        metavar="N",
        help=(
            "tokens in one step; fewer keep the TPOT of others low, more make prefill faster"
            " (default: 512)"
        ),
    )
    memory.add_argument(
        "--max-model-len",
        type=int,
        metavar="N",
        help="tokens of one text, prompt and answer (default: what model and cache allow)",
    )
    memory.add_argument(
        "--speculate",
        type=int,
        default=0,
        metavar="N",
        help=(
            "propose up to N draft tokens per step from an earlier occurrence of the last ones;"
            " greedy answers do not change, sampled ones keep their distribution (default: 0)"
        ),
    )
    memory.add_argument(
        "--scheduling-policy",
        choices=("fcfs", "lpm", "sjf"),
        default="fcfs",
        help=(
            "which waiting request is admitted first: the first to come, the one with the longest"
            " cached prefix, or the one with the shortest prompt (default: fcfs)"
        ),
    )
    where.add_argument(
        "--json",
        action="store_true",
        help="say where it serves what in one line of JSON, as soon as it does",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help=(
            "at the end, write what each of the last 10,000 steps did as JSON lines, for the figure"
            " of a recorded run in the book's page on continuous batching"
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Load, say what is served where, and serve until a signal; 0."""
    api_key = args.api_key or os.environ.get(KEY_VARIABLE) or None
    if not _is_loopback(args.host) and api_key is None and not args.open_to_all:
        raise CourseError(
            f"--host {args.host} lets others in: set {KEY_VARIABLE}, or say --open-to-all"
        )
    if not 0 <= args.port < 65536:
        raise CourseError(f"--port is {args.port}: give 0 to 65535")
    if args.trace and not args.trace.absolute().parent.is_dir():
        raise CourseError(
            f"--trace {args.trace}: there is no folder {args.trace.absolute().parent}"
        )
    # Before the model is loaded: it takes seconds to hear of a taken port. Of several ranks the
    # first serves.
    listening = (
        _listen(args.host, args.port) if os.environ.get("RANK", "0") == "0" else socket.socket()
    )
    try:
        with _ranks(args) as ranks:
            if ranks is not None and ranks.rank:
                return _work(args, ranks)
            return _serve(args, api_key, listening, ranks)
    finally:
        listening.close()


def _work(args: argparse.Namespace, ranks) -> int:
    from reference_impl.engine.loading import DTYPES, LoadingError, load
    from reference_impl.engine.ranks import local_device

    try:
        loaded = load(
            args.model, DTYPES[args.dtype], local_device(args.device, ranks.rank), shard=ranks.shard
        )
    except LoadingError:
        return 2  # the first rank says why
    ranks.work(loaded.model)
    return 0


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, whose address may be another tomorrow
        return False


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        remedy = (
            "is another server there? give another --port"
            if error.errno == errno.EADDRINUSE
            else "give another --host or --port"
        )
        raise CourseError(
            f"can't listen at {host} port {port} ({error.strerror or error}): {remedy}"
        ) from None
    return listening


@contextlib.contextmanager
def _ranks(args: argparse.Namespace):
    """The processes that hold the model's slices; None if it is in one piece.

    CourseError if it can't be cut so.
    """
    started = int(os.environ.get("WORLD_SIZE", 1))
    size = started if args.tensor_parallel_size is None else args.tensor_parallel_size
    if size < 1:
        raise CourseError(f"--tensor-parallel-size is {size}: give 1 or more")
    if started not in (1, size):
        raise CourseError(
            f"--tensor-parallel-size is {size}, but torchrun has started {started}: leave it out,"
            f" or give torchrun --nproc-per-node {size}"
        )
    if size == 1:
        yield None
        return
    for option in ("quantization", "lora_modules", "cuda_graphs"):
        if getattr(args, option):
            raise CourseError(
                f"--tensor-parallel-size with --{option.replace('_', '-')} is not served: leave out"
                " one of them"
            )
    import torch

    from reference_impl.engine.ranks import RankLost, Ranks, leave_signals_to_rank_0, local_device

    if args.device not in ("cpu", "cuda"):
        raise CourseError(
            f"--device {args.device} with --tensor-parallel-size: give cpu, or cuda (the first"
            f" {size} GPUs)"
        )
    if args.device == "cuda" and torch.cuda.device_count() < size:
        raise CourseError(
            f"--tensor-parallel-size is {size}, but torch sees {torch.cuda.device_count()} GPUs"
            " here"
        )
    try:
        if started == 1:
            with Ranks.start(size, args.model, args.dtype, args.device) as ranks:
                yield ranks
            return
        if os.environ["RANK"] != "0":
            leave_signals_to_rank_0()
        ranks = Ranks.join(local_device(args.device, int(os.environ["LOCAL_RANK"])))
        try:
            yield ranks
        finally:
            ranks.close()
    except RankLost as loss:
        raise CourseError(str(loss)) from loss


def _serve(
    args: argparse.Namespace, api_key: str | None, listening: socket.socket, ranks=None
) -> int:
    from reference_impl.engine.connections import allow_connections, make_server
    from reference_impl.engine.limits import Limits
    from reference_impl.engine.loading import DEFAULT_ENCODER_NAME, LoadingError, load_encoder
    from reference_impl.engine.server import Served, create_app
    from reference_impl.engine.step_records import StepRecorder

    try:
        loaded, engine = _engine(args, ranks)
        encoder = load_encoder(args.encoder) if args.encoder else _default_encoder()
    except LoadingError as error:
        raise CourseError(str(error)) from error
    name = args.name or loaded.name
    encoder_name = Path(args.encoder).resolve().name if args.encoder else DEFAULT_ENCODER_NAME
    limits = Limits(
        num_connections=allow_connections(Limits.num_connections),
        shutdown_seconds=args.shutdown_timeout,
    )
    recorder = StepRecorder(engine, TRACED_STEPS) if args.trace else None
    served = Served(
        engine,
        name,
        loaded.render_chat if loaded.chat_template else None,
        encoder,
        encoder_name,
        api_key,
        args.enable_prompt_tokens_details,
        limits,
        None if args.open_to_all else ("localhost", args.host),
        page=not args.no_page and not (args.open_to_all and api_key is None),
        on_step=recorder and recorder.after_step,
    )
    server = make_server(create_app(served), limits)
    losses = []
    if ranks is not None:
        ranks.on_loss = lambda loss: (losses.append(loss), setattr(server, "should_exit", True))
    _announce(args, loaded, engine, served, listening)
    before = signal.signal(signal.SIGTERM, _as_ctrl_c)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        _say_at_the_end(
            ""
        )  # a new line after the terminal's ^C: uvicorn hands on the signal that ended it
    finally:
        signal.signal(signal.SIGTERM, before)
        if recorder is not None:
            _save_trace(recorder, args.trace)
    if losses:
        print(f"course serve: {losses[0]}", file=sys.stderr)
    _say_at_the_end("course serve: ended")
    return 1 if losses else 0


def _save_trace(recorder, path: Path) -> None:
    try:
        recorder.save(path)
        _say_at_the_end(f"trace of {recorder.num_steps:,} steps: {path}")
    except OSError as error:
        print(f"course serve: the trace can't be written: {error}", file=sys.stderr)


def _say_at_the_end(line: str) -> None:
    """Print, though the program that started the server and read its lines may have gone first."""
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


def _as_ctrl_c(*_) -> None:
    raise KeyboardInterrupt


def _engine(args: argparse.Namespace, ranks=None):
    from reference_impl.engine.engine import Engine, EngineConfig
    from reference_impl.engine.loading import DTYPES, LoadingError, load
    from reference_impl.engine.model_runner import ModelRunner
    from reference_impl.engine.scheduler import SchedulerConfig
    from reference_impl.engine.speculative import NgramProposer

    for option in ("cache_mb", "num_blocks", "block_size", "max_model_len"):
        if (value := getattr(args, option)) is not None and value < 1:
            raise CourseError(f"--{option.replace('_', '-')} is {value}: give 1 or more")
    if args.speculate < 0:
        raise CourseError(f"--speculate is {args.speculate}: give 0 or more")
    if not 0 <= args.swap_space < math.inf:
        raise CourseError(f"--swap-space is {args.swap_space:g}: give 0 or more GiB")
    if not 0 <= args.shutdown_timeout < math.inf:
        raise CourseError(
            f"--shutdown-timeout is {args.shutdown_timeout:g}: give 0 or more seconds"
        )
    device = _device(args)
    if args.quantization and device.type != "cpu":
        raise CourseError(
            f"--quantization {args.quantization} is for the CPU: leave out --device {args.device}"
        )
    loaded = load(
        args.model,
        DTYPES[args.dtype],
        device,
        args.quantization == "int8",
        not args.lora_modules,
        ranks and ranks.shard,
    )
    try:
        block = ModelRunner(
            loaded.model, 1, args.block_size, num_shards=ranks.size if ranks else 1
        ).cache.bytes_per_block
        num_blocks = args.num_blocks or (args.cache_mb or 512) * 2**20 // block
        longest = min(loaded.model.config.max_position_embeddings, num_blocks * args.block_size)
        if longest < 2:
            given = (
                f"--num-blocks {args.num_blocks}"
                if args.num_blocks
                else f"--cache-mb {args.cache_mb or 512}"
            )
            raise CourseError(
                f"{given} holds fewer than two tokens, in blocks of {block:,} bytes: give more"
            )
        limits = SchedulerConfig(
            args.max_num_seqs,
            args.max_num_batched_tokens,
            args.max_model_len or longest,
            num_host_blocks=int(args.swap_space * 2**30) // block,
            policy=args.scheduling_policy,
        )
        config = EngineConfig(
            num_blocks,
            args.block_size,
            not args.no_prefix_caching,
            num_speculative_tokens=args.speculate,
            scheduler=limits,
            cuda_graphs=args.cuda_graphs,
            async_scheduling=args.async_scheduling,
            trace_steps=0,
        )
        return loaded, Engine(
            loaded.model,
            config,
            loaded.tokenizer,
            loaded.eos_ids,
            NgramProposer() if args.speculate else None,
            _adapters(args, loaded.name),
            ranks,
        )
    except (
        ValueError,
        RuntimeError,
    ) as error:  # torch's word for memory that is not there is a RuntimeError
        raise LoadingError(str(error)) from error


def _adapters(args: argparse.Namespace, model_name: str) -> dict[str, Path]:
    """Folders of adapters by name. CourseError if two things are to be called the same."""
    paths: dict[str, Path] = {}
    for given in args.lora_modules:
        name, equals, folder = given.partition("=")
        if not name or not equals or not folder:
            raise CourseError(f"--lora-modules {given}: give NAME=FOLDER")
        if name in (*paths, args.name or model_name):
            raise CourseError(
                f"--lora-modules {given}: {name} is the name of another; give each its own"
            )
        paths[name] = Path(folder).expanduser()
    return paths


def _device(args: argparse.Namespace):
    """The device that was asked for.

    CourseError if it is not there, or if graphs are asked for without a GPU.
    """
    import torch

    try:
        device = torch.device(args.device)
    except RuntimeError:
        raise CourseError(
            f"--device {args.device}: give cpu, cuda, or a numbered one such as cuda:1"
        ) from None
    if device.type not in ("cpu", "cuda"):
        raise CourseError(f"--device {args.device}: served are cpu and cuda")
    if device.type == "cuda" and not (
        torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count()
    ):
        raise CourseError(
            f"--device {args.device}: torch sees {torch.cuda.device_count()} GPUs here; leave it"
            " out to serve on the CPU, or install the CUDA build of PyTorch"
        )
    if args.cuda_graphs and device.type != "cuda":
        raise CourseError(
            "--cuda-graphs records a GPU's work: give --device cuda with it, or leave it out"
        )
    return device


def _default_encoder():
    from reference_impl.engine.loading import DEFAULT_ENCODER, LoadingError, load_encoder

    try:
        return load_encoder()
    except LoadingError:
        print(
            f"no embeddings: `course download-data {DEFAULT_ENCODER}` brings the encoder",
            file=sys.stderr,
        )
        return None


def _announce(args: argparse.Namespace, loaded, engine, served, listening: socket.socket) -> None:
    from reference_impl.layers.int8 import weight_bytes

    host, port = listening.getsockname()[:2]
    config, cache = engine.config, engine.runner.cache
    # Of a model in slices, this rank's: what each holds.
    tensors = [
        *loaded.model.parameters(),
        *(b for n, b in loaded.model.named_buffers() if n.endswith(".weight")),
    ]
    parameters = sum(tensor.numel() for tensor in tensors)
    shards = engine.runner.num_shards
    root = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    address = f"{root}/v1"
    if args.json:
        print(
            json.dumps(
                {
                    "address": address,
                    "model": served.model_name,
                    "parameters": parameters,
                    "blocks": config.num_blocks,
                    "block_size": config.block_size,
                    "max_model_len": config.scheduler.max_model_len,
                    "adapters": list(served.adapter_names),
                    "embeddings": served.encoder_name if served.encoder else None,
                    "api_key": bool(served.api_key),
                    "page": f"{root}/" if served.page else None,
                }
            ),
            flush=True,
        )
        return
    does = "chat and completions" if served.render_chat else "completions (it has no chat template)"
    lines = [
        (
            f"model       {served.model_name}: {parameters / 1e6:,.1f} million parameters in "
            f"{args.quantization or args.dtype} on {args.device},"
            f" {weight_bytes(loaded.model) / 2**20:,.0f} MiB"
            f"{f' in each of {shards} processes' if shards > 1 else ''}, {does}"
        ),
        (
            f"cache       {config.num_blocks:,} blocks of {config.block_size} tokens, "
            f"{config.num_blocks * cache.bytes_per_block / 2**20:,.0f} MiB; "
            f"a text may have {config.scheduler.max_model_len:,} tokens"
        ),
        f"adapters    {', '.join(served.adapter_names) or 'none'}",
        f"embeddings  {served.encoder_name if served.encoder else 'none'}",
        f"API key     {'asked for' if served.api_key else 'none'}",
        f"serving at  {address}  (Ctrl-C ends it)",
        *([f"page        {root}/"] if served.page else []),
    ]
    print("\n".join(lines), flush=True)
