"""Chat templates against transformers' apply_chat_template."""

import pytest
import tokenizers
from transformers import PreTrainedTokenizerFast

from reference_impl import corpora
from reference_impl.tokenizers import chat
from reference_impl.tokenizers.chat import render_chat
from reference_impl.tokenizers.vocabulary import TokenizerError
from reference_impl.weights.gguf_files import read_gguf

CHATS = [
    [{"role": "user", "content": "What is a bank?"}],
    [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}],
    [
        {"role": "user", "content": " <b>1 < 2</b> \n"},
        {"role": "assistant", "content": 'Yes: "naïve" & {{x}}'},
        {"role": "user", "content": "{% if %}"},
    ],
]
TEMPLATES = {
    "loops over lines, trimmed": """{%- for message in messages %}
    {%- if message.role == 'system' %}
        {{- '[SYS]' + message['content'] | trim }}
    {%- else %}
        {{ bos_token }}{{ message | tojson }}
    {%- endif %}
    {% if loop.last %}
    the end
    {% endif %}
{% endfor %}
{% if add_generation_prompt %}>{% endif %}""",
    "loop controls": (
        "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m.content }}"
        "{% endfor %}"
    ),
    "namespaces and options": (
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}"
        "{{ ns.n }}{{ messages | tojson(indent=2) }}{{ undefined_name }}{{ strftime_now('%Y') }}"
    ),
}


@pytest.fixture(scope="module")
def smollm2_template():
    return read_gguf(corpora.path("smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf").metadata[
        "tokenizer.chat_template"
    ]


@pytest.fixture(scope="module")
def theirs():
    """transformers' own rendering; the words of this tokenizer play no part."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()), bos_token="<s>"
    )
    return lambda messages, template, prompt: tokenizer.apply_chat_template(
        messages, chat_template=template, add_generation_prompt=prompt, tokenize=False
    )


@pytest.mark.parametrize("prompt", [False, True])
@pytest.mark.parametrize("messages", CHATS)
@pytest.mark.parametrize("name", ["smollm2", *TEMPLATES])
def test_the_text_is_that_of_transformers(theirs, smollm2_template, name, messages, prompt):
    template = TEMPLATES.get(name, smollm2_template)
    ours = render_chat(template, messages, prompt, bos_token="<s>")
    assert ours == theirs(messages, template, prompt) and len(ours) > 5


def test_smollm2_speaks_first_as_a_system_and_the_answer_is_begun(smollm2_template):
    assert render_chat(smollm2_template, CHATS[0], add_generation_prompt=True) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging"
        " Face<|im_end|>\n"
        "<|im_start|>user\nWhat is a bank?<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize(
    "template, says",
    [
        ("{% for %}", "can't be used"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe|can't be used"),
        ("{{ messages.append(1) }}", "can't be used|unsafe"),
        ("{{ messages[0].update(role='x') }}", "can't be used|unsafe"),
        ("{{ cycler.__init__.__globals__.os.system('touch ran') }}", "can't be used|unsafe"),
        ("{% for a in range(100000000) %}x{% endfor %}", "failed|can't be used"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ 'a' + 1 }}", "TypeError"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
    ],
)
def test_a_template_that_is_wrong_or_reaches_out_is_an_error(tmp_path, monkeypatch, template, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TokenizerError, match=says):
        render_chat(template, CHATS[0])
    assert not list(tmp_path.iterdir())


def test_a_template_that_writes_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(chat, "MAX_CHARACTERS", 1000)
    with pytest.raises(TokenizerError, match="wrote more than 1,000 characters"):
        render_chat("{% for a in range(99999) %}{{ a }}{% endfor %}", CHATS[0])


@pytest.mark.parametrize("messages", [["hello"], [{"content": "x"}], [{"role": 3, "content": "x"}]])
def test_what_is_no_message_is_named(messages, as_students_run_it):
    with pytest.raises(TokenizerError, match="message 0 is"):
        render_chat("{{ messages }}", messages)
