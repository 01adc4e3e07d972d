"""What of `bench/gpu.py` can be tested without a GPU: that it starts on a bare machine, and its
bound.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers

ROOT = Path(__file__).resolve().parents[3]
BARE = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"jaxtyping", "beartype", "regex", "safetensors", "transformers",
                                  "tokenizers", "fastapi", "uvicorn", "pydantic", "tqdm", "scipy",
                                  "nltk", "gguf"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
sys.path.insert(0, "bench")
import gpu
from bench import gpu_engine
from reference_impl.models.llama import Llama, LlamaConfig
model = Llama(LlamaConfig(10_000, 32, 40, 2, 4, 2, head_dim=8, qk_norm=True,
                          tie_word_embeddings=True))
work = gpu_engine.jobs(0, 3, 2, 9)
print(gpu.STAND_INS, gpu_engine.serve(gpu_engine.engine_for(model, [work], False), work)
      == sum(n for _, n in work))
sys.exit(gpu.main([]))
"""


def test_it_starts_and_serves_with_torch_triton_and_numpy_alone():
    quiet = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", BARE],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
        env=quiet,
    )
    assert done.stdout.splitlines()[:1] == ["['jaxtyping', 'regex', 'safetensors'] True"], (
        done.stderr
    )
    assert (
        done.returncode == 77 and "no GPU" in done.stdout and "no record was written" in done.stdout
    )


@pytest.fixture(scope="module")
def gpu_engine():
    sys.path.insert(0, str(ROOT))
    from bench import gpu_engine

    yield gpu_engine
    sys.path.remove(str(ROOT))


def test_the_bound_by_hand(gpu_engine):
    config = replace(gpu_engine.QWEN3, num_layers=3, num_kv_heads=2, head_dim=10)
    # A token has 2 * 3 * 2 * 10 * 2 = 240 bytes. The first answer's second and third token read
    # contexts of 5 and 6, the second answer's second token one of 2; three steps read 1,000 bytes
    # of weights each.
    assert (
        gpu_engine.bound_seconds([([0] * 4, 3), ([0], 2)], config, 1000, 100.0)
        == (3000 + (5 + 6 + 2) * 240) / 100
    )


def test_the_rivals_checkpoint_is_the_same_model_to_transformers(gpu_engine, tmp_path):
    config = replace(
        gpu_engine.QWEN3,
        vocab_size=50,
        hidden_size=16,
        intermediate_size=24,
        num_layers=2,
        num_heads=4,
        num_kv_heads=2,
        head_dim=8,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    ours = gpu_engine.Llama(config).eval()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    gpu_engine.write_checkpoint(ours, tmp_path)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    ids = torch.tensor([[1, 2, 3, 40, 5]])
    with torch.inference_mode():
        torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-4, atol=1e-4)
    assert transformers.AutoTokenizer.from_pretrained(tmp_path).eos_token_id == 0
    assert transformers.AutoConfig.from_pretrained(tmp_path).dtype == torch.bfloat16
