"""Probabilistic matrix factorisation with personalised differential privacy, as published (2018)."""
