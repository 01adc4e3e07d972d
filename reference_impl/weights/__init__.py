"""Weights in the files and under the names that published models have.

safetensors_files   one file, or shards with an index
pytorch_files       the same as PyTorch's pickles, which are programs: read without
                    running them
gguf_files          one file with settings, tokenizer and blocks of few bits
                    (gguf_blocks)
nf4                 sixteen levels for normally distributed weights, and layers in them
gguf_llama          what such a file calls the settings and parameters of a LLaMA
shards              the error that all of these raise; an index over several files
published           what a config.json says, key by key, and refusing what is not known
names               our parameter names to Hugging Face's and back
families            each model family's keys and names
pretrained          a folder with config.json and weights, into a model and out of it
"""
