"""What a published config.json says, key by key: each is read, must have one value, or
changes no number.

A key that is none of these is refused by name: it may be the one setting by which a
model differs, and a model read without it gives other numbers and no error. What each
family's keys are stands in `families`.

"Changes no number" means: of a pass through a model whose weights come from the file.
How weights were drawn, which ids a tokenizer adds and how text is generated are such
keys.

Not here: building the model (see `pretrained`), names of tensors (see `names`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reference_impl.weights.shards import WeightsError

Only = Mapping[str, tuple[Any, str]]
"""Published keys that must have one value, each with the reason."""

FREE = frozenset(
    """
    architectures name_or_path _name_or_path _commit_hash transformers_version
    transformers.js_config tokenizer_class torch_dtype dtype torchscript use_bfloat16
    tf_legacy_loss attn_implementation _attn_implementation _attn_implementation_autoset
    chunk_size_feed_forward gradient_checkpointing initializer_range
    return_dict output_hidden_states output_attentions output_past use_cache
    id2label label2id num_labels _num_labels problem_type finetuning_task
    task_specific_params prefix
    bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id mask_token_id
    unk_token_id decoder_start_token_id
    assistant_confidence_threshold assistant_lookbehind bad_words_ids
    begin_suppress_tokens diversity_penalty do_sample early_stopping
    encoder_no_repeat_ngram_size encoder_repetition_penalty epsilon_cutoff eta_cutoff
    exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id
    length_penalty max_length min_length no_repeat_ngram_size num_assistant_tokens
    num_assistant_tokens_schedule num_beam_groups num_beams num_return_sequences
    output_scores penalty_alpha remove_invalid_values repetition_penalty
    return_dict_in_generate suppress_tokens target_lookbehind temperature top_k top_p
    typical_p
""".split()
)
"""Keys that change no number, of every family."""

ENCODER: Only = {
    "is_decoder": (False, "it is an encoder"),
    "add_cross_attention": (False, "it is an encoder"),
    "is_encoder_decoder": (False, "it is an encoder"),
    "pruned_heads": ({}, "all heads are there"),
    "cross_attention_hidden_size": (None, "it is an encoder"),
    "tie_encoder_decoder": (False, "it is an encoder"),
}
DECODER: Only = {
    "is_encoder_decoder": (False, "there is no encoder"),
    "pruned_heads": ({}, "all heads are there"),
    "add_cross_attention": (False, "there is no encoder"),
    "cross_attention_hidden_size": (None, "there is no encoder"),
    "tie_encoder_decoder": (False, "there is no encoder"),
}
TIED: Only = {"tie_word_embeddings": (True, "the output layer is the embedding")}


def same(*names: str) -> dict[str, str]:
    """Settings that are called here as they are published."""
    return {name: name for name in names}


@dataclass(frozen=True)
class Published:
    """How one model_type's config.json is read.

    settings    our setting to the published key
    only        keys that must have one value
    free        keys that change no number, besides FREE
    defaults    what the library takes for a key that a file leaves out, where that is
                not what our setting starts from
    read        brings what is nested, or published in several ways, into one flat
                object before the rest
    """

    model_type: str
    settings: Mapping[str, str]
    only: Only = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    read: Callable[[dict[str, Any]], dict[str, Any]] = dict

    def settings_from(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Our settings from the object in a config.json.

        WeightsError names the first key that can't be followed.
        """
        try:
            flat = self.read({**self.defaults, **config})
        except (TypeError, KeyError, AttributeError, IndexError, ValueError) as error:
            if isinstance(error, WeightsError):
                raise
            raise WeightsError(
                f"config.json is not one of a {self.model_type} that is understood:"
                f" {error!r}"
            ) from error
        check_only(self.only, flat, config)
        known = {"model_type", *self.settings.values(), *self.only, *self.free, *FREE}
        if unknown := sorted(key for key in flat if key not in known):
            raise WeightsError(
                f"config.json sets {unknown[0]} to {flat[unknown[0]]!r}, which is not"
                f" known here of a {self.model_type}: it might change every number. If"
                " you know that it doesn't, take it out of the file"
            )
        return {
            ours: flat[theirs]
            for ours, theirs in self.settings.items()
            if theirs in flat
        }


def check_only(only: Only, flat: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """WeightsError for a key whose value is not the one that can be followed."""
    for name, (value, why) in only.items():
        if name in flat and flat[name] != value:
            said = (
                f"sets {name} to {config[name]!r}"
                if name in config
                else f"has {name} at {flat[name]!r}"
            )
            raise WeightsError(
                f"config.json {said}: only {value!r} can be read, since {why}"
            )
