"""How it learns: one file for each model, named after it."""
