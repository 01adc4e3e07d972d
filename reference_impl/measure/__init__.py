"""How good and how costly: metrics of predictions, and counts of parameters, operations and bytes."""
