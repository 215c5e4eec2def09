"""Who sees what: a model asks a population for sums and never sees a rating."""
