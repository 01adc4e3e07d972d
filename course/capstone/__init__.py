"""The capstone: a small chat model from raw text to a server, in stages that can be resumed.

settings    sizes and steps of each stage: the full recipe and the tiny one
parts       which functions are the student's own, and which the reference implementation
stages      a run's folder, its manifests, and what is finished
tokenizer, pretrain, tune, reinforce, export, evaluate, report_card    one stage each
topics, tasks    what the model learns to answer, and how answers are judged
"""
