"""What the paper has about S2 and S3, and where it is: equations, theorems, figures, claims in their own words."""

from discreet.papers.frame.contents import Entry

TRUSTED = "S1, the trusted recommender: the paper `objective-perturbation`"
AS_S1 = "S2 is very close to S1"
S2_ZERO = "the mean error of S2 grows by about 0 for epsilon .15"
S2_LITTLE = "S2 costs little: the mean error of training ratings hardly grows"
S3_NETFLIX = "with epsilon .8 S3 is extremely close to the baseline after 10,000 iterations"
ROBUST = "without noise, users who come and go affect precision slightly"
S3_SAME = "S3 is indistinguishable from the baseline after 10,000 iterations for epsilon of .05 and more"
S3_LITTLE = "S3 costs little: the mean error of training ratings hardly grows"
DOWN = "a user with 20 rated items downloads at most 12 KB in an iteration"
UP = "and uploads at most 5 KB"
BACK = "the third party sends less than 3 MB for 10,000 items"
PARTY = "the third party takes about 400 ms for an iteration with 1,000 users"
CLIENT = "a client takes about 5.7e-4 ms"
S2_MEAN = "on Netflix the mean error of S2 grows by around .14 for epsilon .15"
S3_MEAN = "on Netflix the mean error of S3 grows by less than .1 for epsilon .8"
JOIN = "the more likely users join, the smaller the mean error"
LEAVE = "how likely they leave matters less"

FORMULAS = (
    Entry("Eq. (1)", "the objective of matrix factorisation", because=TRUSTED),
    Entry("Eq. (2)", "the step of a user's vector", ["parties.User.act", "simulation.at_home"]),
    Entry("Eq. (3)", "the step of an item's vector", ["simulation.moved"], because="from v_j, not v_i"),
    Entry("Eq. (4)", "the gradient of a user's vector", ["parties.User.act"]),
    Entry("Eq. (5)", "the gradient of an item's vector", ["parties.User.act"]),
    Entry("3.1, start", "rows of norm 1, uniform", ["simulation.start"]),
    Entry("Definition 1", "differential privacy, for a record that is there or not", ["privacy.guarantee"]),
    Entry("3.3, at home", "a user solves (1) for u_i with V fixed", ["algorithm.UntrustedMF.predict"]),
    *(
        Entry(f"Eq. ({number})", what, because=TRUSTED)
        for number, what in (
            (6, "the objective with noise"),
            (7, "both objectives are stationary"),
            (8, "the ratio of densities"),
        )
    ),
    Entry("Theorem 1", "V is private with noise in the objective", because=TRUSTED),
    Entry("Eq. (9)", "the step with noise", ["simulation.moved"], because="it descends here"),
    Entry(
        "Eq. (10)",
        "the density of the noise",
        ["noise.laplace_scale"],
        because="pieces add up to Lemma 1's law instead",
    ),
    Entry(
        "Eq. (11)",
        "the difference attack",
        ["curious.Attacker.difference_of_rounds"],
        because="it works on S2 and S3 too",
    ),
    Entry("Lemma 1", "Laplace noise of scale 2 Delta sqrt(d)/epsilon in every coordinate", ["noise.laplace_scale"]),
    Entry("Theorem 2", "Laplace noise from an exponential and a normal number", ["noise.pieces"], because="true"),
    Entry("Eq. (12)", "a user's piece of the noise", ["noise.pieces", "parties.User.act"]),
    Entry("Eq. (13)", "noise of every iteration", ["parties.User.act"], because="in its third-party form, for the sum"),
    Entry("4.2, steps 1 to 4", "S2 with a third party", ["parties.Recommender", "parties.ThirdParty", "messages.Task"]),
    Entry(
        "4.3, initialisation",
        "S3: beta, alpha and tau",
        ["parties.Recommender.keep_noise", "parties.ThirdParty.collect_noise"],
    ),
    Entry(
        "4.3, iterations",
        "pieces of tau, alpha taken away",
        ["parties.Recommender.tasks", "parties.ThirdParty.collect"],
    ),
    Entry("5, users", "join with .005, leave with .01, at most 1,000 or 100 at once", ["attendance.attendance"]),
    Entry(
        "5, metrics",
        "errors of known ratings",
        ["experiment.Repetition.measure"],
        because="training errors: there is no test set",
    ),
    Entry("5, communication", "bytes and times", ["costs.measured"], [DOWN, UP, BACK, PARTY, CLIENT]),
)
FIGURES = (
    *(
        Entry(f"Fig. {number}", f"errors in S1, {which}", because=TRUSTED)
        for number, which in ((1, "Netflix"), (2, "MovieLens"))
    ),
    Entry("Fig. 3", "errors in S2, Netflix", ["figures.figures"], [AS_S1]),
    Entry("Fig. 4", "errors in S2, MovieLens", ["figures.figures"], [AS_S1, S2_ZERO]),
    Entry("Fig. 5", "errors in S3, Netflix", ["figures.figures"], [S3_NETFLIX]),
    Entry("Fig. 6", "errors in S3, MovieLens", ["figures.figures"], [S3_SAME]),
    Entry("Fig. 7", "mean increases, Netflix", ["figures.figures"], [S2_MEAN, S3_MEAN]),
    Entry("Fig. 8", "mean increases, MovieLens", ["figures.figures"], [S2_ZERO, S3_SAME]),
    Entry("Fig. 9", "joining and leaving, Netflix", ["figures.figures"], [JOIN, LEAVE]),
    Entry("Fig. 10", "joining and leaving, MovieLens", ["figures.figures"], [JOIN, LEAVE]),
)
CLAIMS = (
    Entry(
        "Abstract", '"introduces acceptable side effects on the precision of results"', claims=[S2_LITTLE, S3_LITTLE]
    ),
    Entry("1", '"bring limited side effects on the precision of learning results"', claims=[S2_LITTLE, S3_LITTLE]),
    Entry(
        "4.2",
        '"it is infeasible for him to remove this noise piece"',
        ["curious.ManyUsers", "curious.NoExponentials"],
        because="he names H and k, and so switches it off",
    ),
    Entry(
        "4.2",
        '"users can easily monitor"',
        ["curious.ManyUsers"],
        because="an honest H with a false k passes every test",
    ),
    Entry(
        "4.2",
        '"can only harm himself, not give the recommender extra information"',
        because="who knows c of k pieces leaves a share (k - c)/k of the variance to the others",
    ),
    Entry(
        "4.2",
        '"the utility of V that we obtain is significantly affected"',
        because="of noise in every user's gradient: no number is given, and S2 itself already fails",
    ),
    Entry(
        "4.2",
        '"infeasible for the curious third-party to learn any useful information"',
        ["parties.ThirdParty"],
        because="true of values; who rated what it is told",
    ),
    Entry("4.3", '"the precision of the final results is slightly affected"', claims=[ROBUST]),
    Entry(
        "4.3",
        '"infeasible for the recommender or the thirdparty to infer the true value of eta"',
        ["parties.Recommender.keep_noise"],
        because="true, and no help: it cancels",
    ),
    Entry("5", '"the results of this scenario are very close to those of S1"', claims=[AS_S1]),
    Entry("5", '"around 0.14 when epsilon = 0.15"', claims=[S2_MEAN]),
    Entry("5", '"this value declines to near 0 for MovieLens"', claims=[S2_ZERO]),
    Entry("5", '"extremely close to the baseline after 10000 iterations"', claims=[S3_NETFLIX]),
    Entry("5", '"below 0.1 when epsilon = 0.8"', claims=[S3_MEAN]),
    Entry("5", '"indistinguishable from the baseline after 10000 iterations"', claims=[S3_SAME]),
    Entry("5", '"as the joining probability increases"', claims=[JOIN]),
    Entry("5", '"the effect of the leaving probability is not so obvious"', claims=[LEAVE]),
    Entry("5", '"at most 12KB data from the recommender"', claims=[DOWN]),
    Entry("5", '"uploads at most 5KB data to the third-party"', claims=[UP]),
    Entry("5", '"less than 3MB"', claims=[BACK]),
    Entry("5", '"about 5.7e-4 ms and 400ms"', claims=[PARTY, CLIENT]),
    Entry(
        "5",
        '"the total time for each iteration can be confined to 5s"',
        because="assumed from other work, not measured",
    ),
    Entry("6", '"our proposals have little side effects on the precision of results"', claims=[S2_LITTLE, S3_LITTLE]),
    Entry(
        "6",
        '"a differentially private MF mechanism is feasible when the central server is untrusted"',
        ["attacks.attack"],
        because="not this one; see the sound protocol",
    ),
)
CONTENTS = (*FORMULAS, *FIGURES, *CLAIMS)
