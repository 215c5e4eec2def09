"""What an almanac asks for next, decided from what it has seen: with the unit user and Gaussian noise.

Gaussian looks split without loss: to ask with half of μ² and again with the other half, and to average, is to ask once
with all of it. So a first look at users and items takes a part of the budget, and its noisy answers say, at no further
cost, where the rest pays:

    S  =  Σ n_i² / Σ n_i  over the deviation of the noise on a count, if the whole budget went there:
          how clearly an item is seen that a rating is about

    R(K)  =  users who rate two or more of the K most rated items / spectral threshold of noise on their co-occurrence

    more of the same     item sums once more: for rankings by popularity, and for whatever is left
    pairs                co-occurrence (and products, for ratings) of the K most rated items, if R is large enough
    sweeps               what everyone's own fit leaves of the ratings: with no factors, item biases again, about less
                         spread residuals; with factors where S is large (:mod:`~discreet.models.denoise.private_als`)

**Guarantee.** Whether and how to look again depends on answers; the ledger's filter holds the limit that was fixed
beforehand (:mod:`~discreet.privacy.composition`).
"""
