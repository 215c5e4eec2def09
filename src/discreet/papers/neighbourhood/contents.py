"""Everything in the paper: formulas, definitions, theorems, algorithms, figures and claims, each with its place."""

from discreet.papers.frame.contents import Entry

ABOUT_NOTES = "see what is claimed, and true"
SUMS = "with beta 10, what is divided by is never below 10"
PROMISING = "DPSGD-PNBM is promising for epsilon of 1 or more"
COS, PCC = (f"DPSGD-PNBM is more accurate than {name} for epsilon of 1 or more" for name in ("COS", "PCC"))
SMALLER, LARGER = (
    "DPSGD-PNBM is more accurate than DPSGD-MF below epsilon 20",
    "DPSGD-MF is more accurate than DPSGD-PNBM for epsilon of 20 or more",
)
MF_KEEPS = "DPSGD-MF does not lose much accuracy for epsilon of 20 or more"
MF_COS, MF_PCC = (f"DPSGD-MF is then more accurate than {name}" for name in ("COS", "PCC"))
MF_DROPS = "the accuracy of DPSGD-MF drops quickly below epsilon 20"
SAMPLED, SAMPLED_MF = (f"{name} is accurate from 0.1 x 200 on" for name in ("DPPS-PNBM", "DPPS-MF"))
SAMPLED_COS, SAMPLED_PCC = (f"DPPS-PNBM is then more accurate than {name}" for name in ("COS", "PCC"))
SAMPLED_BEATS_MF = "DPPS-PNBM is more accurate than DPPS-MF"
FEW, STEADY = (
    "both are most accurate with few neighbours",
    "both are less sensitive to the number of neighbours than COS and PCC",
)
AT_ONE, SAMPLING_WINS = "both are quite accurate at epsilon 1", "with the same guarantee DPPS-PNBM is more accurate"
BOUND = "one changed rating moves the gradient by no more than its noise is made for"

FORMULAS = (
    Entry("Table 1", "notation", because="the docstrings say what each letter means"),
    Entry("Eq. (1)", "likelihood and prior of the similarities", ["sampling.DPPSPNBM"]),
    Entry("Eq. (2)", "the prediction from neighbours", ["similarities.predict"]),
    Entry(
        "Eq. (3)",
        "minus the log of the posterior",
        ["descent.DPSGDPNBM.gradient"],
        because="only its gradient is used; the sum is over observed ratings, and its constants do not matter",
    ),
    Entry("Eq. (4)", "a step of gradient descent", ["descent.DPSGDPNBM.learn"], because="(u, j) is printed for (u, i)"),
    Entry(
        "Eq. (5)",
        "the derivative",
        ["descent.DPSGDPNBM.gradient"],
        because="the bars of |S_i| are missing, and so is the part for negative similarities: both are there here",
    ),
    Entry(
        "Eq. (6)", "the bound on a coordinate", ["privacy.published_sensitivity", "change.of_a_user"], [], ABOUT_NOTES
    ),
    Entry("Eq. (7)", "the posterior that is sampled", ["sampling.DPPSPNBM"], because="its sign is a misprint"),
    Entry("Eq. (8)", "a step of SGLD", ["sampling.DPPSPNBM.learn"]),
    Entry("Eq. (9)", "the true gradient", ["sampling.DPPSPNBM.gradient"]),
    Entry("Eq. (10)", "its estimate from a batch", ["sampling.DPPSPNBM.learn"]),
    Entry("Eq. (11)", "the mean of the estimate", because="a step of the derivation; a test has it for full batches"),
    Entry("Eq. (12)", "H", ["sampling.DPPSPNBM.inverse_prior"], because="about 1 always; two other readings beside it"),
    Entry("Eq. (13)", "the update with H", ["sampling.DPPSPNBM.learn"]),
    Entry("Definition 1", "differential privacy", because="sigma is printed for delta"),
    Entry("Algorithm 1", "DPSGD", ["descent.DPSGDPNBM"], because="line 4 prints tau for phi"),
    Entry("Algorithm 2", "DPPS", ["sampling.DPPSPNBM"], because="line 6 prints gamma for xi"),
    Entry(
        "Theorem 1",
        "Algorithm 1 is epsilon-differentially private",
        ["privacy.furthest_change", "privacy.amplified", "audits.shown_epsilon"],
        because=f"wrong: {ABOUT_NOTES}",
    ),
    Entry(
        "Theorem 2",
        "Algorithm 2 is (epsilon, (1 + e^epsilon) delta)-differentially private",
        ["privacy.worth_at_temperature", "change.of_a_removed_user"],
        because=f"holds for an exact sample at temperature 1 with public means, and nothing of it is so: {ABOUT_NOTES}",
    ),
    Entry(
        "3, preprocessing",
        "only users with more than 20 ratings, no paranoid records",
        ["descent.DPSGDPNBM.gradient"],
        because="MovieLens has no user with fewer than 20; what paranoid records would exceed is clamped",
    ),
    Entry("3, rescaling", "beta", ["descent.DPSGDPNBM.rescaling"]),
    Entry("3, clamping", "errors are clamped, more and more", ["privacy.most_error"]),
    Entry("4.1, temperature", "rho", ["sampling.DPPSPNBM.temperature"]),
    Entry("4.3, cap", "at most tau ratings of a user", ["sampling.capped"]),
    Entry("5, RMSE", "root mean squared error", ["experiment.rmse"]),
    Entry("5.1, settings", "grids of the settings of all models", ["experiment.tried", "experiment.candidates"]),
    Entry(
        "5.1, rivals",
        "COS, PCC, DPSGD-MF, DPPS-MF",
        ["experiment.Repetition.controls", "factors.DPSGDMF", "factors.DPPSMF"],
    ),
)
FIGURES = (
    Entry("Fig. 1", "the graphical model", because="a drawing of eq. (1)"),
    Entry("Fig. 2", "the distribution of |S_i| I_u", ["figures.figures"], [SUMS]),
    Entry(
        "Fig. 3", "DPSGD-PNBM, DPSGD-MF, COS and PCC", ["figures.figures"], [PROMISING, COS, PCC, MF_KEEPS, MF_DROPS]
    ),
    Entry("Fig. 4", "DPPS-PNBM, DPPS-MF, COS and PCC", ["figures.figures"], [SAMPLED, SAMPLED_MF]),
    Entry("Fig. 5", "neighbour sizes", ["figures.figures"], [FEW, STEADY]),
    Entry("Fig. 6", "DPSGD-PNBM beside DPPS-PNBM", ["figures.figures"], [AT_ONE, SAMPLING_WINS]),
)
CLAIMS = (
    Entry(
        "Abstract; 5.3",
        '"both solutions allow promising accuracy with a modest privacy budget"',
        claims=[PROMISING, SAMPLED, AT_ONE],
    ),
    Entry(
        "Abstract; 1.1; 5.2",
        '"the second solution yields better accuracy if the sampling asymptotically converges"',
        claims=[SAMPLING_WINS],
    ),
    Entry(
        "Abstract; 1.1; 5.3",
        '"our solutions achieve better accuracy when the privacy budget is reasonably small"',
        claims=[SMALLER, SAMPLED_BEATS_MF],
    ),
    Entry("1.1; 5.3", '"MFs are more accurate when privacy loss is large"', claims=[LARGER]),
    Entry(
        "1.1; 5.3",
        '"both our solutions consistently outperform non-private traditional NBMs"',
        claims=[COS, PCC, SAMPLED_COS, SAMPLED_PCC],
    ),
    Entry("3", '"the lower bound of |S_i|I_u … is 10"', claims=[SUMS]),
    Entry(
        "3",
        '"trivially influences the convergence under non-private training"',
        ["experiment.Repetition.controls"],
        because="MAP is learned with the clamp, and reaches what is expected of it",
    ),
    Entry("5.2", '"when epsilon >= 20, DPSGD-MF does not lose much accuracy"', claims=[MF_KEEPS]),
    Entry("5.2", '"it is better than non-private PCC and COS"', claims=[MF_COS, MF_PCC]),
    Entry("5.2", '"the accuracy drops quickly"', claims=[MF_DROPS]),
    Entry(
        "5.2",
        '"DPSGD-PNBM maintains a promising accuracy when epsilon >= 1, and is better than non-private PCC and COS"',
        claims=[PROMISING, COS, PCC],
    ),
    Entry(
        "5.2",
        '"both … allow accurate estimations when epsilon >= 0.1 x 200"',
        claims=[SAMPLED, SAMPLED_MF],
    ),
    Entry(
        "5.2",
        '"the accuracy performance is better than the non-private PCC and COS"',
        claims=[SAMPLED_COS, SAMPLED_PCC],
    ),
    Entry("5.2", '"reach their best accuracy with a smaller neighbor size"', claims=[FEW]),
    Entry("5.2", '"less sensitive than PCC and COS, when neighbor size is changed"', claims=[STEADY]),
    Entry(
        "5.2",
        '"quite accurate predictions with a privacy guarantee (epsilon about 1)"',
        claims=[AT_ONE],
    ),
    Entry(
        "5.2",
        '"it is less efficient than DPSGD-PNBM"',
        ["experiment.STEPS"],
        because="true by reading: hundreds of steps, where DPSGD-PNBM takes 1 to 20",
    ),
)
CONTENTS = (*FORMULAS, *FIGURES, *CLAIMS)
