"""Matrix factorisation by objective perturbation, as published (IJCAI 2015), with a trusted recommender."""
