"""Differentially private neighbourhood-based recommenders (Wang and Tang, arXiv 1701.02120)."""
