"""Everything in the paper and where it is: equations, definition, theorems, figures, claims in their own words."""

from discreet.papers.frame.contents import Entry

UNTRUSTED = "S2 and S3, the untrusted recommender: the paper `untrusted`"
S1_ONLY = "the curve of S1 alone; those of S2 and S3 are in the paper `untrusted`"
ITERATIONS = "precision increases with the number of iterations"
EPSILON = "precision increases with epsilon"
CLOSE = "with epsilon .05 it is extremely close to the baseline after 40 iterations"
NETFLIX_CLOSE = "on Netflix noise is negligible for epsilon .15 after 70 iterations"
NETFLIX_MEAN = "on Netflix the mean error grows by less than .03 for epsilon .15"
LITTLE = "noise costs little: the mean error of training ratings hardly grows"
DECREASES = "the mean error even decreases slightly"

FORMULAS = (
    Entry("Eq. (1)", "the objective of matrix factorisation", ["algorithm.ObjectivePerturbedMF.train"]),
    Entry("Eq. (2)", "the step of a user's vector", ["algorithm.ObjectivePerturbedMF._improved"]),
    Entry(
        "Eq. (3)",
        "the step of an item's vector",
        ["algorithm.ObjectivePerturbedMF._improved"],
        because="from v_j, not v_i",
    ),
    Entry("Eq. (4)", "the gradient of a user's vector", ["algorithm.ObjectivePerturbedMF._improved"]),
    Entry("Eq. (5)", "the gradient of an item's vector", ["algorithm.ObjectivePerturbedMF._improved"]),
    Entry("3.1, start", "rows of norm 1, uniform", ["algorithm.unit_rows"]),
    Entry("Definition 1", "differential privacy, for a record that is there or not", ["privacy.guarantee"]),
    Entry("3.3, at home", "a user solves (1) for u_i with V fixed", ["algorithm.ObjectivePerturbedMF.predict"]),
    Entry("Eq. (6)", "the objective with noise, U held fixed", ["algorithm.ObjectivePerturbedMF.publish"]),
    Entry(
        "Theorem 1",
        "V is private with noise of density exp(-epsilon/(2 Delta) times its length)",
        ["algorithm.ObjectivePerturbedMF.draw_noise", "privacy.counter_example", "leak.log_likelihood_ratio"],
        because="true for a constant U of norm 1 and a changed value, false for the algorithm",
    ),
    Entry("Eq. (7)", "both objectives are stationary at V", ["leak.log_likelihood"], because="over rated pairs"),
    Entry("Eq. (8)", "the ratio of densities", ["leak.log_likelihood_ratio"], because="without the determinants"),
    Entry("Eq. (9)", "the step with noise", ["algorithm.ObjectivePerturbedMF.publish"], because="it descends here"),
    Entry("Eq. (10)", "the density of the noise", ["privacy.noise_scale"]),
    Entry("Eq. (11)", "the difference attack", because=UNTRUSTED),
    Entry(
        "Lemma 1",
        "Laplace noise of scale 2 Delta sqrt(d)/epsilon in every coordinate does as well",
        ["algorithm.ObjectivePerturbedMF.noise", "privacy.noise_scale"],
        because="true where Theorem 1 is; it does not have the density (10)",
    ),
    Entry("Theorem 2", "Laplace noise from an exponential and a normal number", because=UNTRUSTED),
    Entry("Eq. (12)", "a user's piece of the noise", because=UNTRUSTED),
    Entry("Eq. (13)", "noise of every iteration", because=UNTRUSTED),
    Entry("5, data", "100 movies of Netflix, and MovieLens 100K", ["claims.RUN_ON"]),
    Entry(
        "5, metrics",
        "distribution and mean increase of the errors of known ratings",
        ["experiment.Repetition.measure"],
        because="training errors: there is no test set; ours are beside them",
    ),
    Entry("5, settings", "gamma 2^-5, lambda and mu .001, d 50", ["algorithm.ObjectivePerturbedMF.learning_rate"]),
)
FIGURES = (
    Entry("Fig. 1", "errors in S1, Netflix", ["figures.figures"], [NETFLIX_CLOSE]),
    Entry("Fig. 2", "errors in S1, MovieLens", ["figures.figures"], [ITERATIONS, EPSILON, CLOSE]),
    *(
        Entry(f"Fig. {number}", f"errors in {which}", because=UNTRUSTED)
        for number, which in ((3, "S2, Netflix"), (4, "S2, MovieLens"), (5, "S3, Netflix"), (6, "S3, MovieLens"))
    ),
    Entry("Fig. 7", "mean increases, Netflix", ["figures.figures"], [NETFLIX_MEAN], S1_ONLY),
    Entry("Fig. 8", "mean increases, MovieLens", ["figures.figures"], [LITTLE, DECREASES], S1_ONLY),
    Entry("Fig. 9", "joining and leaving, Netflix", because=UNTRUSTED),
    Entry("Fig. 10", "joining and leaving, MovieLens", because=UNTRUSTED),
)
CLAIMS = (
    Entry("Abstract", '"introduces acceptable side effects on the precision of results"', claims=[LITTLE]),
    Entry("1", '"bring limited side effects on the precision of learning results"', claims=[LITTLE]),
    Entry(
        "5", '"the precision increases with the iteration number and the privacy budget"', claims=[ITERATIONS, EPSILON]
    ),
    Entry("5", '"become negligible when epsilon >= 0.15 for Netflix after 70 iterations"', claims=[NETFLIX_CLOSE]),
    Entry("5", '"the mean increase of prediction errors is below 0.03"', claims=[NETFLIX_MEAN]),
    Entry(
        "5",
        '"extremely approaching the baseline just after 40 iterations when epsilon = 0.05"',
        claims=[CLOSE],
    ),
    Entry(
        "5",
        '"the mean increase of prediction errors even slightly deceases compared with the baseline"',
        claims=[DECREASES],
        because="the text has Fig. 8(b), which is S3; S1 is in 8(a)",
    ),
    Entry(
        "5",
        '"introducing noises in learning may help some elements escape from local optimums"',
        because="offered as a reason; where it decreases here it does without noise too: V is fitted twice",
    ),
    Entry("6", '"our proposals have little side effects on the precision of results"', claims=[LITTLE]),
    Entry(
        "6",
        '"a differentially private MF mechanism is feasible when the central server is untrusted"',
        because=UNTRUSTED,
    ),
)
CONTENTS = (*FORMULAS, *FIGURES, *CLAIMS)
