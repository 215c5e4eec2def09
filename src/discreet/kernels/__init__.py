"""How it is summed: array kernels, one file for each family of models."""
