"""The file formats of the model families: one module each, tables and small functions,
no model.

A model's class names the two of its family that it needs:

    formats   what its config.json says, a `published.Published` for each model_type
    files     what its tensors are called, a `names.Files`

    bert             BERT and its tasks
    bert_relatives   RoBERTa, ALBERT, ELECTRA, DistilBERT, DeBERTa
    long_documents   Longformer, BigBird
    xlnet            XLNet
    t5               T5 and T5 1.1
    gpt              GPT-1, GPT-2 and their tasks
    gpt_neox         GPT-NeoX, Pythia
    llama            LLaMA, Mistral, Mixtral, Qwen2, Qwen3
    deepseek         DeepSeek-V3
    gemma3           Gemma 3's text models
    gpt_oss          gpt-oss, its experts in MXFP4 or whole
    modernbert       ModernBERT
    rotary           how all of these write rotary positions
    layer_types      which layers have a window
    tables           tables that old files carry and that are computed
"""
