"""Differentially private matrix factorisation by objective perturbation, as published (IJCAI 2015), trusted recommender."""
