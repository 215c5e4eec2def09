"""Everything in the paper: formulas, definitions, theorems, figures and claims, each with its place in the code.

It has two numbered equations; other formulas go by what they define. It has no numbered algorithm and no table.
"""

from discreet.papers.frame.contents import Entry
from discreet.papers.hybrid_knn.experiment import FIXED

ABOUT_NOTES = "see what is claimed, and true"
AVERAGE, COVARIANCES = "RP hardly moves the global average", "RP hardly changes the covariances"
LESS_THAN_DP = "the hybrid is less accurate than DP alone in most settings"
LESS_THAN_RP = "the hybrid is less accurate than RP alone in most settings"
LOSS_TO_DP = "what the hybrid loses beside DP alone is acceptable"
LOSS_TO_RP = "what the hybrid loses beside RP alone is acceptable"
BETTER_THAN_DP = "the hybrid is sometimes more accurate than DP alone"
NOTHING_LOST = "the hybrid loses nothing beside RP alone in any setting"
BY_GAMMA, BY_EPSILON = "whatever gamma is, RMSE falls as epsilon grows", "whatever epsilon is, RMSE rises with gamma"
IGNORING = f"at epsilon {FIXED:g}, DP that ignores RP is more accurate than the hybrid"
SMALL = "the RMSE difference of the two is small"

FORMULAS = (
    Entry("2.1, GAvg", "global average", ["algorithm.HybridKNN.measure"], because="with epsilon none"),
    Entry("2.1, r'", "centred rating: only the user's average is taken off", ["algorithm.HybridKNN.residuals"]),
    Entry("2.1, UAvg", "damped user average", ["algorithm.HybridKNN.user_averages"]),
    Entry("2.1, IAvg", "damped item average", ["algorithm.HybridKNN.measure"]),
    Entry(
        "2.1, beta",
        "dampings are mean counts",
        ["algorithm.HybridKNN.item_damping", "algorithm.PerturbedStatistics.dampings"],
    ),
    Entry("2.1, Cov", "covariance, users weighted by 1/c", ["algorithm.weighted_sums"]),
    Entry(
        "2.1, kNN",
        '"such as the k-nearest neighbor (kNN) method proposed by Bell and Koren"; 3: fed "with no changes"',
        ["algorithm.HybridKNN.moments", "algorithm.HybridKNN.similarities"],
        because="the form ratio; plain, joint, shrunk and damped are other readings",
    ),
    Entry("Definition 1", "epsilon-differential privacy for one record", ["privacy.corrected_epsilon"]),
    Entry("2.2, composability", "epsilons of a sequence add up", ["privacy.SHARES"]),
    Entry("2.2, sensitivity", "L_k-sensitivity of a function", ["privacy.Sensitivities"]),
    Entry("2.2, Laplace mechanism", "noise of scale sensitivity / epsilon", ["algorithm.HybridKNN.measure"]),
    Entry("2.3, disguise", "r + v, v uniform in [-gamma, gamma]", ["algorithm.HybridKNN.collect"]),
    Entry("Eq. (1)", "sums of perturbed ratings are nearly those of raw ones", claims=[AVERAGE]),
    Entry("Eq. (2)", "so are scalar products", claims=[COVARIANCES]),
    Entry("3.1, GAvg", "noisy global average", ["algorithm.HybridKNN.measure"]),
    Entry("3.1, IAvg", "noisy item averages", ["algorithm.HybridKNN.measure"]),
    Entry("3.1, UAvg", "user averages, shrunk towards GAvg", ["algorithm.HybridKNN.user_averages"]),
    Entry(
        "3.1, clamp",
        "centred ratings, clamped to [-B, B]",
        ["algorithm.HybridKNN.clamped"],
        because="its middle line reads -B >= …, a misprint for <=",
    ),
    Entry("3.1, Cov", "noisy covariance", ["algorithm.HybridKNN.measure", "algorithm.HybridKNN.released"]),
    Entry("3.2, sensitivities", "tau + 2 gamma, 1, 2B(tau + 2 gamma) + 3B², 3", ["privacy.Sensitivities.published"]),
    Entry("Theorem 1", "clamped rows differ by tau + 2 gamma + B", because=f"wrong: {ABOUT_NOTES}"),
    Entry(
        "Theorem 2",
        "products differ by 2B(tau + 2 gamma) + 3B²",
        ["privacy.Sensitivities.products"],
        because=f"wrong: {ABOUT_NOTES}",
    ),
    Entry("Theorem 3", "weights differ by 3", ["privacy.Sensitivities.weights"], because="right, and sharp"),
    Entry(
        "Theorem 4",
        "the hybrid is more private than DP that ignores RP, whose epsilon is (tau + 2 gamma)/tau times as large",
        ["privacy.corrected_epsilon", "paper.worth"],
        because="the order is right, its reason and size are not",
    ),
    Entry("3.2, GAvg*", "GAvg of perturbed ratings is nearly that of raw ones", claims=[AVERAGE]),
    Entry("3.2, Cov*", "Cov of perturbed ratings is nearly that of raw ones", claims=[COVARIANCES]),
    Entry("4.1, RMSE", "root mean squared error on the test set", ["experiment.Repetition.measure"]),
    Entry("4.1, data", "Netflix, MovieLens and Yahoo, with their test sets", ["claims.RUN_ON"]),
    Entry(
        "4.1, settings",
        "k 20, B 1, epsilons of .02, .19 and .79",
        ["algorithm.HybridKNN.neighbours", "algorithm.HybridKNN.bound", "privacy.SHARES"],
    ),
    Entry("4.1, repetitions", "every experiment 10 times, averages reported", ["paper.PAPER"]),
)
FIGURES = (
    Entry("Fig. 1", "overview of the three stages", because="a drawing: collect, publish and predict of the algorithm"),
    Entry("Fig. 2", "RP alone, over gamma", ["figures.figures"], ["RMSE rises with gamma"]),
    Entry(
        "Fig. 3",
        "DP alone, over epsilon",
        ["figures.figures"],
        ["accuracy falls rapidly below epsilon 1", "beyond epsilon 1 accuracy approaches a constant"],
    ),
    Entry("Fig. 4", "the hybrid over epsilon", ["figures.figures"], [BY_GAMMA, LESS_THAN_DP]),
    Entry("Fig. 5", "the hybrid beside DP", ["figures.figures"], [LESS_THAN_DP, LOSS_TO_DP, BETTER_THAN_DP]),
    Entry("Fig. 6", "the hybrid over gamma", ["figures.figures"], [BY_EPSILON]),
    Entry("Fig. 7", "the hybrid beside RP", ["figures.figures"], [LESS_THAN_RP, LOSS_TO_RP, NOTHING_LOST]),
    Entry("Fig. 8", "running time", ["figures.figures"], ["running time grows with the matrix"]),
    Entry("Fig. 9", "DP that ignores RP", ["figures.figures"], [IGNORING, SMALL]),
)
CLAIMS = (
    Entry(
        "Abstract; 1.2; 5",
        '"the noise added by RP has limited effect on recommendation accuracy"',
        claims=["RMSE rises with gamma", AVERAGE, COVARIANCES],
    ),
    Entry(
        "Abstract; 1.2; 5",
        '"the noise added by DP can be well controlled based on the sensitivity analysis"',
        ["privacy.corrected_epsilon"],
        because=f"the analysis is wrong: {ABOUT_NOTES}",
    ),
    Entry(
        "Abstract; 1.2; 4.2.6",
        '"more privacy protection with acceptable recommendation accuracy loss"',
        claims=[LOSS_TO_DP, LOSS_TO_RP],
    ),
    Entry(
        "Abstract; 1.2; 4.2.6",
        '"sometimes achieves better privacy without sacrificing accuracy"',
        claims=[BETTER_THAN_DP, NOTHING_LOST],
        because="said of Netflix",
    ),
    Entry(
        "1.2; 5",
        "\"users' private data is kept secret and no one can infer any single user's data\"",
        ["paper.sent", "paper.worth"],
        because="RP tells some ratings for certain, and always which items were rated; the claim is for one rating",
    ),
    Entry("3.2; 4.2.4", '"the hybrid approach can provide stronger privacy protection than DP"', ["paper.worth"]),
    Entry("4.2.1", '"the accuracy decreases on all three datasets"', claims=["RMSE rises with gamma"]),
    Entry(
        "4.2.2",
        '"the accuracy decreases rapidly when DP provides strong privacy guarantee"',
        claims=["accuracy falls rapidly below epsilon 1"],
    ),
    Entry(
        "4.2.2",
        '"when epsilon > 1, the accuracy approaches to a constant"',
        claims=["beyond epsilon 1 accuracy approaches a constant"],
    ),
    Entry(
        "4.2.2",
        '"a large epsilon contributes little to the accuracy"',
        claims=["epsilon 10 is little more accurate than 1"],
    ),
    Entry(
        "4.2.3", '"no matter which gamma is used in RP, the overall trend of DP remains the same"', claims=[BY_GAMMA]
    ),
    Entry("4.2.3", '"larger gamma often leads to less accuracy"', claims=["a larger gamma is often less accurate"]),
    Entry(
        "4.2.3",
        '"DP plus RP with gamma = 0.5 is more accurate than DP plus RP with gamma = 3.5 on MovieLens"',
        claims=["DP plus RP with gamma 0.5 is more accurate than with 3.5"],
    ),
    Entry(
        "4.2.3",
        '"in most cases the combination of DP and RP makes recommendation less accurate"',
        claims=[LESS_THAN_DP],
    ),
    Entry(
        "4.2.3",
        '"for Netflix dataset, the combination of DP and RP sometimes outperforms DP only, especially when '
        'gamma is small"',
        claims=[BETTER_THAN_DP, "most of all with a small gamma"],
    ),
    Entry(
        "4.2.3",
        '"the accuracy loss of DP plus RP is acceptable on MovieLens and Netflix datasets"',
        claims=[LOSS_TO_DP],
    ),
    Entry(
        "4.2.3",
        '"but is not satisfactory on Yahoo dataset"',
        claims=["what the hybrid loses beside DP alone is not satisfactory"],
    ),
    Entry(
        "4.2.3",
        '"MovieLens and Netflix datasets have similar rating distribution"',
        because="offered as a possible reason; nothing is claimed to follow from it",
    ),
    Entry("4.2.3", '"the overall trend of RP remains the same no matter which epsilon is used"', claims=[BY_EPSILON]),
    Entry(
        "4.2.3",
        '"smaller epsilon is more likely to make the recommendation less accurate"',
        claims=["a smaller epsilon is mostly less accurate"],
    ),
    Entry(
        "4.2.3",
        '"for MovieLens dataset, the combination of RP and DP makes recommendation less accurate, but in an '
        'acceptable range"',
        claims=[LESS_THAN_RP, LOSS_TO_RP],
    ),
    Entry(
        "4.2.3",
        '"for the Netflix dataset … not sacrificing recommendation accuracy … for any combination of gamma '
        'and epsilon"',
        claims=[NOTHING_LOST],
    ),
    Entry(
        "4.2.3",
        '"the accuracy loss is still unsatisfactory on Yahoo dataset"',
        claims=["what the hybrid loses beside RP alone is not satisfactory"],
    ),
    Entry(
        "4.2.4",
        '"the running time increases when the rating matrix becomes large"',
        claims=["running time grows with the matrix"],
    ),
    Entry(
        "4.2.4",
        '"about 1000 * 1700, the hybrid approach only needs 33 s"',
        claims=["the hybrid runs within 33 s on a matrix of about 1000 by 1700"],
    ),
    Entry(
        "4.2.4",
        '"380K * 500 … within less than 2.5 h"',
        claims=[
            "the hybrid runs in less than 2.5 hours on a matrix of 380,000 by 500",
            "made-up ratings of Netflix's size take less than 2.5 hours",
        ],
    ),
    Entry("4.2.4", '"the computation cost … mainly comes from DP"', claims=["its cost is mainly that of DP"]),
    Entry(
        "4.2.4",
        '"the same computation complexity as DP"',
        ["algorithm.HybridKNN.collect"],
        because="true by reading: one more number is drawn for each rating",
    ),
    Entry("4.2.5", '"in all datasets … DP has a better performance than the hybrid approach"', claims=[IGNORING]),
    Entry(
        "4.2.5",
        '"this … shows DP cannot provide sufficient privacy guarantee over the perturbed data"',
        ["paper.worth"],
        because="accuracy shows nothing of the kind, but the order is right: Theorem 4",
    ),
    Entry("4.2.5", '"the RMSE difference of the two methods is small"', claims=[SMALL]),
    Entry(
        "4.2.6", '"the integration of DP and RP does not affect their original trend"', claims=[BY_GAMMA, BY_EPSILON]
    ),
    Entry(
        "1.2; 5", '"the combination of DP and RP is feasible … in practice"', because="a summary of the claims above"
    ),
)
CONTENTS = (*FORMULAS, *FIGURES, *CLAIMS)
