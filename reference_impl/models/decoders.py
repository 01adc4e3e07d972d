"""The models that `engine` serves: decoders with a cache for each layer."""

from reference_impl.models.deepseek import Deepseek
from reference_impl.models.gemma3 import Gemma3
from reference_impl.models.gpt import GPT
from reference_impl.models.gpt_oss import GptOss
from reference_impl.models.llama import Llama

Decoder = GPT | Llama | Deepseek | Gemma3 | GptOss
FAMILIES = GPT, Llama, Deepseek, Gemma3, GptOss
