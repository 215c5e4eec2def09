"""Everything in the paper and where it is: equations, definitions, theorems, algorithms, tables, figures, claims."""

from discreet.papers.frame.contents import Entry

RISES = "RMSE of PDP-PMF rises with the share of conservative ratings"
RISES_LINEARLY = "it rises about linearly"
MUCH_SHARE = "it is much smaller than that of DP-PMF, whatever the share"
BETTER = "PDP-PMF outperforms DP-PMF"
AROUND_ONE = "RMSE of PDP-PMF is always around 1.0"
ORDER = "more conservative ratings give worse predictions"
SEVENTY = "70 % of errors are below 1 for all three"
OVERLAP = "the curves of all three overlap"
FALLS = "RMSE of PDP-PMF falls as epsilon_m grows"
FALLS_LINEARLY = "it falls about linearly"
MUCH_MIDDLE = "it is much smaller than that of DP-PMF, whatever epsilon_m"
TENDS = "RMSE tends to .94 to .97"
FLAT = "RMSE of PDP-PMF3 is almost flat"
HARDLY = "the threshold hardly matters above 0.4"
BEST = "the best threshold is about 0.70"
POINTS = "a threshold of 0.7 has about 2.2 points more of small errors than 1.0"

FORMULAS = (
    Entry("Eq. (1)", "the objective of PMF", ["algorithm.DPPMF.train"]),
    Entry("Eq. (2)", "the step of a user's vector", ["algorithm.DPPMF.train"], because="50 divided by |R'|"),
    Entry("Eq. (3)", "the step of an item's vector", ["algorithm.DPPMF.train"]),
    Entry("Eq. (4)", "the gradient of a user's vector", ["algorithm.DPPMF.train"]),
    Entry("Eq. (5)", "the gradient of an item's vector", ["algorithm.DPPMF.train"]),
    Entry("3.1, start", "rows of norm 1, uniform", ["algorithm.DPPMF.start"]),
    Entry("3.1, norm", "user vectors of norm 1 at most, supposed", ["algorithm.DPPMF.user_norm"]),
    Entry("Definition 1", "differential privacy", ["privacy.guarantee_of_one"]),
    Entry("Eq. (6)", "its inequality", ["privacy.guarantee_of_one"]),
    Entry("Definition 2", "a privacy specification", ["levels.draw_levels", "algorithm.PDPPMF.sample"]),
    Entry("Definition 3", "personalised differential privacy", ["privacy.guarantee_of_levels"]),
    Entry("Eq. (7)", "its inequality", ["privacy.guarantee_of_levels"]),
    Entry("Eq. (8)", "the objective with noise", ["algorithm.DPPMF.publish"]),
    Entry(
        "Theorem 4",
        "DP-PMF is private with noise of density exp(-epsilon/Delta times its length), Delta the largest rating",
        ["algorithm.DPPMF.draw_noise", "privacy.one_rater"],
        because="false: the proof keeps a removed rating as 0, the algorithm leaves it out",
    ),
    Entry(
        "Eq. (9)", "both objectives are stationary", ["privacy.one_rater"], because="with the same indicator, wrongly"
    ),
    Entry("Eq. (10)", "the ratio of densities", ["privacy.one_rater"], because="without the determinants"),
    Entry("Definition 5", "the sample mechanism", ["algorithm.PDPPMF.sample"]),
    Entry("Eq. (11)", "how often a rating is kept", ["algorithm.PDPPMF.sample"]),
    Entry("Eq. (12)", "DP-PMF with the threshold, on the sample", ["algorithm.PDPPMF.fit"]),
    Entry("5, threshold", "the mean level, or the maximum", ["levels.threshold_of"]),
    Entry("Algorithm 1", "sampling", ["algorithm.PDPPMF.sample"]),
    Entry("Algorithm 2", "DP-PMF", ["algorithm.DPPMF.train", "algorithm.DPPMF.publish"]),
    Entry(
        "Theorem 6",
        "PDP-PMF is private for every rating at its own level",
        ["privacy.sampled_sides"],
        because="true over a base that is private; DP-PMF is not",
    ),
    *(Entry(f"Eq. ({number})", "a line of its proof", ["privacy.sampled_sides"]) for number in (13, 14, 15, 16)),
    Entry(
        "Remark 7", "a changed value loses twice its level", ["privacy.replaced"], because="once, over a suitable base"
    ),
    Entry("6.1, data", "MovieLens 100K and 1M, a sample of Netflix", ["claims.RUN_ON"]),
    Entry("6.1, metrics", "RMSE and the distribution of errors, tenfold", ["experiment.Repetition.measure"]),
    Entry(
        "6.1, settings",
        "learning rate 50, penalties .01, 50 iterations, d 20",
        ["algorithm.DPPMF.learning_rate", "algorithm.DPPMF.private_iterations"],
        because="k2 is not given",
    ),
    Entry("6.1, levels", "54 % conservative, 37 % moderate, the rest liberal", ["levels.Levels"]),
)
FIGURES = (
    *(Entry(f"Table {number}", f"settings of Fig. {number + 1}", ["experiment.FULL"]) for number in (1, 2, 3, 4)),
    Entry("Fig. 1", "overview of the three stages", because="a drawing: sample, publish and predict of the algorithm"),
    Entry("Fig. 2", "over the share of conservative ratings", ["figures.figures"], [RISES, RISES_LINEARLY, MUCH_SHARE]),
    Entry("Fig. 3", "errors of four schemes", ["figures.figures"], [ORDER, SEVENTY, OVERLAP]),
    Entry("Fig. 4", "over epsilon_m", ["figures.figures"], [FALLS, FALLS_LINEARLY, MUCH_MIDDLE, TENDS, FLAT]),
    Entry("Fig. 5", "over the threshold", ["figures.figures"], [HARDLY, BEST, POINTS]),
)
CLAIMS = (
    Entry(
        "Abstract; 1; 7",
        '"recommendation quality is much better than the DP-PMF scheme"',
        claims=[MUCH_SHARE, MUCH_MIDDLE],
    ),
    Entry(
        "Abstract; 1",
        '"performs well on protecting the privacy of each user"',
        ["privacy.one_rater", "privacy.recovered"],
        because="nothing was measured; what is true is above",
    ),
    Entry(
        "6.2",
        '"increases approximately linearly with the increasing of fraction of conservative records"',
        claims=[RISES, RISES_LINEARLY],
    ),
    Entry("6.2", '"is much smaller than that of DP-PMF scheme"', claims=[MUCH_SHARE, MUCH_MIDDLE]),
    Entry("6.2", '"the RMSEs are always around 1.0"', claims=[AROUND_ONE], because="said of the larger data sets"),
    Entry(
        "6.2",
        '"higher f_c makes the average privacy preference t smaller … and gives worse prediction"',
        claims=[ORDER],
    ),
    Entry("6.2", '"the curves for the three PDP-PMF schemes extremely overlap each other"', claims=[OVERLAP]),
    Entry("6.2", '"percentages of ratings with prediction errors less than 1 achieve 70%"', claims=[SEVENTY]),
    Entry(
        "6.2",
        '"decreases approximately linearly with the increasing of moderate privacy setting"',
        claims=[FALLS, FALLS_LINEARLY],
    ),
    Entry("6.2", '"approach some values in trend, respectively, among [0.94, 0.97]"', claims=[TENDS]),
    Entry("6.2", '"the RMSEs of PDP-PMF3 are almost flat"', claims=[FLAT]),
    Entry("6.2", '"the sampling threshold has a slight influence on the recommendation quality"', claims=[HARDLY]),
    Entry("6.2", '"the best choice of sampling threshold t about 0.70"', claims=[BEST]),
    Entry("6.2", '"when t > 0.4 … the variations on the percentages of ratings are quite small"', claims=[HARDLY]),
    Entry("6.2", '"is around 2.2% for each of the three curves"', claims=[POINTS]),
    Entry("6.2", '"our proposed PDP-PMF scheme outperforms the DP-PMF scheme on the three datasets"', claims=[BETTER]),
    Entry(
        "6.2",
        '"the latter two datasets would prevent more noise interference"',
        because="a comparison of data sets, of which one is run at a time",
    ),
)
CONTENTS = (*FORMULAS, *FIGURES, *CLAIMS)
