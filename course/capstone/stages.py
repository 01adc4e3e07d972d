"""A run of the pipeline: its folder, what is finished in it, and how each stage is recorded.

    FOLDER/pretrain/model.safetensors
    FOLDER/pretrain/manifest.json    written last: a stage with a manifest is finished

A manifest carries a fingerprint of everything that decides the stage's result: seed, settings,
device, the source of the student's own functions, and the fingerprint of the stage before. A
finished stage is skipped if its fingerprint is still the same, and refused if it is not.
"""

import dataclasses
import hashlib
import importlib.metadata
import json
import platform
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

from autograder.common.errors import CourseError
from course.capstone.parts import Parts
from course.capstone.settings import STAGES, Recipe
from reference_impl.corpora.cache import read_json, write_json, written_whole
from reference_impl.training.checkpoint import model_tensors
from reference_impl.weights.safetensors_files import read_file

MANIFEST, WEIGHTS = "manifest.json", "model.safetensors"
SETTINGS_OF = {
    "tokenizer": ("tokenizer",),
    "pretrain": ("pretrain",),
    "tune": ("tune",),
    "reinforce": ("reinforce",),
    "controls": ("controls", "evaluate"),
    "export": (),
    "report": ("evaluate",),
}
VERSIONS_OF = ("torch", "safetensors", "regex")


@dataclass(frozen=True)
class Run:
    """One run of the pipeline: where it is, and all that decides its result."""

    folder: Path
    seed: int
    recipe: Recipe
    device: str
    parts: Parts

    def path(self, stage: str, name: str = "") -> Path:
        """A file of a stage, or its folder."""
        return self.folder / stage / name

    def fingerprint(self, stage: str) -> str:
        """A hash of what decides this stage's result and that of all stages before it."""
        place = STAGES.index(stage)
        decides = {
            "stage": stage,
            "seed": self.seed,
            "device": torch.device(self.device).type,
            "settings": [
                dataclasses.asdict(getattr(self.recipe, name)) for name in SETTINGS_OF[stage]
            ],
            "own": self.parts.sources(stage),
            "before": self.fingerprint(STAGES[place - 1]) if place else None,
        }
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()

    def manifest(self, stage: str) -> dict[str, Any]:
        """What a finished stage recorded; empty if it is not finished."""
        return read_json(self.path(stage, MANIFEST))

    def is_finished(self, stage: str) -> bool:
        """Whether a stage can be skipped. Raises CourseError if it was made otherwise."""
        found = self.manifest(stage)
        if found and found.get("fingerprint") != self.fingerprint(stage):
            raise CourseError(
                f"{self.path(stage, MANIFEST)} is of another seed, device, settings or own"
                f" functions: remove {self.path(stage)} and the stages after it, or give another"
                " --folder"
            )
        return bool(found)

    def finish(self, stage: str, clock: "Clock", **facts: Any) -> None:
        """Record a stage as finished, with its times and what it found."""
        for checkpoints in self.path(stage).rglob("checkpoints"):
            shutil.rmtree(checkpoints)
        versions = {name: importlib.metadata.version(name) for name in VERSIONS_OF}
        write_json(
            self.path(stage, MANIFEST),
            {
                "stage": stage,
                "seed": self.seed,
                "recipe": self.recipe.name,
                "fingerprint": self.fingerprint(stage),
                "device": self.device,
                "threads": torch.get_num_threads(),
                "versions": {"python": platform.python_version(), **versions},
                **clock.read(),
                **facts,
            },
        )

    def save_weights(self, stage: str, model: nn.Module, name: str = WEIGHTS) -> None:
        """Write a model's parameters, each once, so that the file appears whole."""
        tensors = {key: one.detach().cpu() for key, one in model_tensors(model).items()}
        with written_whole(self.path(stage, name)) as temporary:
            save_file(tensors, temporary)

    def load_weights(self, stage: str, model: nn.Module, name: str = WEIGHTS) -> nn.Module:
        """Put a stage's parameters into a model of the same shape; the model."""
        saved = read_file(self.path(stage, name))
        with torch.no_grad():
            for key, tensor in model_tensors(model).items():
                tensor.copy_(saved[key])
        return model


class Clock:
    """CPU and wall seconds of a stage, over all starts of it that ended in an orderly way."""

    def __init__(self, run: Run, stage: str):
        self._path = run.path(stage, "seconds.json")
        self._before = read_json(self._path)
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def read(self) -> dict[str, float]:
        """Both times, in seconds."""
        wall, cpu = time.monotonic() - self._wall, time.process_time() - self._cpu
        return {
            "wall_seconds": round(self._before.get("wall_seconds", 0) + wall, 1),
            "cpu_seconds": round(self._before.get("cpu_seconds", 0) + cpu, 1),
        }

    def save(self) -> None:
        """Keep the times of an interrupted start for the next one."""
        write_json(self._path, self.read())
