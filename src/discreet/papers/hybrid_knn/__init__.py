"""Randomized perturbation at home, Laplace noise at the recommender's: a hybrid (DASFAA 2017)."""
