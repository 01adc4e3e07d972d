"""One file a family.

Each shows the model; shared parts come from `layers`, other people's names from
`weights`.
"""
