"""Weights in the files and under the names that published models have.

    safetensors_files   one file, or shards with an index
    names               our parameter names to Hugging Face's and back
    pretrained          a folder with config.json and weights, into a model and out of it
"""
