"""Everything in the paper and where it is: equations, definitions, theorems, algorithms, tables, figures, claims."""

from discreet.papers.frame.contents import Entry

BUILT = "data sets as built give better models"
PRIORS_DP, PRIORS = "priors improve DP-VAE", "priors improve VAE"
CLIP = "the optimal clipping bound improves DP-VAE"
BETTER = "DP-VAE is better than all models but VAE"
LOSES = "DP-VAE loses about 6.8 % of NDCG@100 to VAE"
RECALLS = "its recalls are around 16 % lower"
BOTH = "both improvements together are better than neither"
EVERY_RANK = "Recall@R of DP-VAE is above all but VAE's, whatever R"
AT_TEN = "KNN and SVD are better than DP-VAE in NDCG@10"
FALLS = "their NDCG falls sharply as R grows"
TRADE_OFF = "a larger epsilon gives a better model"
HALF = "at an epsilon of 0.5 DP-VAE is much better than all models but VAE"
STRICT = "at 0.3 its recalls are sharply lower than at 0.5"
OTHERS = "their clipping is better than plain DP-SGD for SVD, MF and the autoencoder"

FORMULAS = (
    Entry("Definition 1", "differential privacy", ["privacy.guarantee"]),
    Entry("Eq. (1)", "its inequality", ["privacy.guarantee"]),
    Entry(
        "Definition 2",
        "user-level neighbours: one sample of user k more or less",
        ["privacy.guarantee"],
        because="not a user more or less; with one sample a user, the whole row, it is",
    ),
    Entry("Definition 3", "the sensitivity for user k", ["rounds.Rounds.clipped"]),
    Entry("Eq. (2)", "the same", ["rounds.Rounds.clipped"]),
    Entry("2.3.1", "the encoder", ["network.Network.encode"]),
    Entry("2.3.2", "the decoder and its likelihood", ["network.Network.decode"], because="x_ki is missing in the sum"),
    Entry("Eq. (3)", "the evidence lower bound", ["network.Network.gradients"]),
    Entry("Lemma 1", "what it is equivalent to", because="known; nothing is computed from it"),
    *(Entry(f"Eq. ({number})", "a line of its proof", because="known") for number in (4, 5, 6)),
    Entry("Eq. (7)", "with the weight beta", ["network.Network.gradients", "algorithm.DPVAE.divergence"]),
    Entry("3.2", "how many ratings a user contributes", ["construction.contribution_bounds"]),
    Entry(
        "Theorem 1",
        "the accuracy of a model on data so built",
        because="sets the constant of an O() bound to 1 and takes users for independent samples: nothing follows",
    ),
    *(Entry(f"Eq. ({number})", "a line of its proof", because="as above") for number in (8, 9, 10)),
    Entry("Algorithm 1", "subsets of Hanneke's proof", because="part of that proof; no system runs it"),
    Entry(
        "3.2, weights",
        "several ratings of one item, the t-th of m weighted by 2t/(m(m+1))",
        because="Ratings.merge('recency'); on the three data sets every pair is rated once",
    ),
    Entry("Eq. (11)", "priors from what users say of themselves", ["priors.published_priors", "priors.exact_means"]),
    Entry(
        "Theorem 2",
        "priors are private",
        ["privacy.prior_epsilon", "priors.negative_share"],
        because="false: noise for one number, on 2K of them; the means of all users have none",
    ),
    *(
        Entry(f"Eq. ({number})", "a line of its proof", ["privacy.one_step"], because="right for one number")
        for number in (12, 13, 14, 15, 16, 17, 18)
    ),
    Entry("Eq. (19)", "the bound with priors", ["network.Network.gradients"]),
    Entry("Algorithm 2", "Optimal_Clip", ["clipping.optimal_clip"]),
    Entry(
        "Theorem 3",
        "Optimal_Clip finds the best bound",
        ["clipping.expected_error", "privacy.slopes_of_error"],
        because="H rises everywhere, so the best bound is the least on the list",
    ),
    Entry("Eq. (20)", "the expected error H(S)", ["clipping.expected_error"]),
    Entry(
        "Algorithm 3",
        "training",
        ["rounds.Rounds.descend", "algorithm.DPVAE.train"],
        because="z is drawn from the encoder, not from the prior as printed; S is one for a batch",
    ),
    Entry(
        "Theorem 4",
        "training is private for every user at their own level",
        ["privacy.delta_of_scales", "privacy.composed", "privacy.divergence_of_scales"],
        because="false: the bound is secret and scales the noise, and steps are not composed",
    ),
    Entry("4.1.1", "the data sets, omega 0.05, delta 0.1, p at least 0.001", ["claims.RUN_ON", "construction.OMEGA"]),
    Entry("Eq. (21)", "sparsity", because="a description of the data"),
    Entry("4.1.2", "NDCG and recall", ["experiment.ranked"]),
    Entry(
        "Eq. (22)",
        "their formulas",
        ["experiment.ranked"],
        because="Q_k cannot be the recommended items: held-out ones, as in the work it cites",
    ),
    Entry("4.1.3", "levels uniform in (0, 1], delta one over the size of the training data", ["rounds.draw_levels"]),
    Entry("4.1.4", "baselines", ["baselines.BASELINES", "experiment.NETWORKS"]),
    Entry("4.1.5", "five repetitions", because="three here, with intervals"),
)
SHOWN = (
    Entry("Table 1", "notation", because="nothing to compute"),
    Entry("Table 2", "the data sets", ["claims.RUN_ON"]),
    Entry("Table 3", "sizes and settings of the network", ["network.Network.count", "algorithm.DPVAE"]),
    Entry("Table 4", "settings of all models", ["baselines.BASELINES", "experiment.NETWORKS"]),
    Entry("Table 5", "data sets as they are, and built", ["printed.CONSTRUCTION"], [BUILT]),
    Entry("Table 6", "with and without priors", ["printed.PRIORS"], [PRIORS_DP, PRIORS]),
    Entry("Table 7", "constant and optimal clipping bound", ["printed.CLIPS"], [CLIP]),
    Entry("Table 8", "all models", ["printed.MODELS"], [BETTER, LOSES, RECALLS]),
    Entry("Table 9", "both improvements", ["printed.BOTH"], [BOTH]),
    Entry("Table 10", "over the largest level", ["printed.LEVELS"], [TRADE_OFF, HALF, STRICT]),
    Entry("Table 11", "other models", ["printed.OTHERS"], [OTHERS]),
    Entry("Fig. 1", "the network", because="a drawing: network.Network"),
    Entry("Fig. 2", "the system", because="a drawing: algorithm.DPVAE.fit"),
    Entry("Fig. 3", "NDCG and recall over R", ["figures.figures"], [EVERY_RANK, AT_TEN, FALLS]),
)
CLAIMS = (
    Entry(
        "Abstract",
        '"high recommendation precision while maintaining a reasonable privacy guarantee"',
        claims=[BETTER, LOSES],
    ),
    Entry("4.2.1", '"can improve the RS performance significantly for all recommendation models"', claims=[BUILT]),
    Entry(
        "4.2.2",
        '"adopting the user-level priors can improve the recommendation performance"',
        claims=[PRIORS_DP, PRIORS],
    ),
    Entry("4.2.3", '"the performance of the DP-VAE model is improved on all datasets"', claims=[CLIP]),
    Entry("4.2.4", '"there is only about 6.8% loss of NDCG@100"', claims=[LOSES]),
    Entry("4.2.4", '"Recall values are around 16% lower"', claims=[RECALLS], because="14.5 and 13.3 % in its table"),
    Entry("4.2.4", '"can still perform better than other standard models"', claims=[BETTER]),
    Entry("4.2.4", '"DP-VAE still outperforms other baselines compared to Recall@R"', claims=[EVERY_RANK]),
    Entry("4.2.4", '"KNN and SVD perform slightly better than DP-VAE for NDCG@10"', claims=[AT_TEN]),
    Entry("4.2.4", '"their performance degrades sharply when increasing R"', claims=[FALLS]),
    Entry("4.2.4", '"achieves better performance in terms of NDCG@100"', claims=[BOTH]),
    Entry("4.2.5", '"comparable performance under a higher privacy guarantee"', claims=[TRADE_OFF]),
    Entry("4.2.5", '"still much better than the baselines except for the VAE model"', claims=[HALF]),
    Entry("4.2.5", '"degrades shapely considering Recall@20 and Recall@50"', claims=[STRICT]),
    Entry("4.2.6", '"outperforms the "DP" one for each selective model"', claims=[OTHERS]),
    Entry(
        "5.1",
        '"higher epsilon_k typically indicates lower privacy protection (versus poorer model performance)"',
        claims=[TRADE_OFF],
        because="poorer and better are exchanged",
    ),
)
CONTENTS = (*FORMULAS, *SHOWN, *CLAIMS)
