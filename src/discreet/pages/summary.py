"""From results to a page: which sections, in which order, with which words."""

from collections.abc import Sequence
from pathlib import Path

from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.evaluation.results import Results
from discreet.pages.charts import pictures_for, pictures_of
from discreet.pages.data_charts import popularity_chart, values_chart
from discreet.pages.page import Facts, Pictures, Section, Suggestions, Table, Text, write_page
from discreet.pages.privacy_charts import is_sweep
from discreet.pages.sweeps import sweep_sections
from discreet.pages.words import MEASURED, SHOWN, display_name, is_error, leading_metrics, ordered_rows
from discreet.releases.release import Recommendations

NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def write_results(
    path: str | Path,
    results: Results,
    *,
    title: str = "",
    lead: str = "",
    ratings: Ratings | None = None,
    recommendations: Recommendations | None = None,
    history: History | None = None,
    recommended_by: str = "",
    command: str = "",
) -> Path:
    """Write a page about a comparison of models.

    Parameters
    ----------
    path
        The file.
    results
        What :func:`discreet.compare` returned.
    title, lead
        The headline and what stands under it; by default they say which model came first.
    ratings
        The data, to draw what they look like.
    recommendations, history, recommended_by
        Suggestions for one user, the ratings they were made from, and the name of the model.
    command
        What to type to get the same page again.

    Examples
    --------
    >>> import discreet as dc, tempfile
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> models = {"bias": dc.Bias(), "plain": dc.Bias(item_damping=0)}
    >>> results = dc.compare(models, ratings, dc.evaluation.Folds(count=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_results(Path(folder) / "page.html", results, ratings=ratings).stat().st_size < 1_500_000
    True
    """
    sections: list[Section] = [Facts(facts=_facts(results, ratings)), *comparison_sections(results)]
    if recommendations is not None:
        sections.append(
            Suggestions(
                recommendations=recommendations,
                history=history,
                text=(f"By {recommended_by}. " if recommended_by else "") + _reason_note(recommendations),
            )
        )
    sections.append(Table(results=results))
    if ratings is not None and len(ratings) > 0:
        sections.append(_data(ratings))
    sections.append(_privacy(results, command))
    return write_page(path, title=title or _headline(results), lead=lead or _lead(results), sections=sections)


def save_pictures(folder: str | Path, results: Results, kind: str = "png") -> list[Path]:
    """Write every picture of results into a folder, as ``png`` or ``svg``, and say where they are."""
    paths = []
    for picture in pictures_of(results):
        path = Path(folder) / f"{picture.name}.{kind}"
        picture.save(path)
        paths.append(path)
    return paths


def _headline(results: Results) -> str:
    if is_sweep(results):
        return f"What privacy costs on {results.data}"
    if len(results.rows) == 1:
        return f"How {results.rows[0].model} does on {results.data}"
    count = len(results.rows)
    return f"{NUMBERS[count] if count < len(NUMBERS) else count} recommenders on {results.data}"


def _lead(results: Results) -> str:
    if is_sweep(results):
        return f"{len(results.models)} models, with and without privacy. Measured on {results.split}."
    parts = []
    for metric in leading_metrics(results):
        rows = ordered_rows(results, metric)
        first = rows[0]
        sentence = f"{first.model} has the {'lowest' if is_error(metric) else 'highest'} {display_name(metric)}, "
        sentence += f"{first[metric]:.3f}"
        if len(rows) > 1:
            parts.append(sentence + f"; {rows[-1].model} is last with {rows[-1][metric]:.3f}.")
        else:
            parts.append(f"{display_name(metric)} of {first.model} is {first[metric]:.3f}.")
    return " ".join([*parts, f"Measured on {results.split}."])


def _facts(results: Results, ratings: Ratings | None) -> dict[str, str]:
    facts = {}
    for metric in leading_metrics(results):
        best = ordered_rows(results, metric)[0]
        whose = f"{best.model} without privacy" if is_sweep(results) and best.epsilon is None else best.model
        facts[f"best {display_name(metric)}, {whose}"] = f"{best[metric]:.3f}"
    timed = [row for row in results.rows if row.fit_seconds is not None]
    if len(timed) > 1:
        slowest = max(timed, key=lambda row: row.fit_seconds or 0.0)
        facts[f"longest fit, {slowest.model}"] = f"{slowest.fit_seconds:.2f} s"
    if ratings is not None:
        facts["ratings"] = f"{len(ratings):,}"
        facts["users"] = f"{ratings.n_users:,}"
        facts["items"] = f"{ratings.n_items:,}"
    return facts


def comparison_sections(results: Results) -> list[Section]:
    """The pictures of results, those of predicted ratings and those of rankings apart; or what privacy costs."""
    if is_sweep(results):
        return sweep_sections(results)
    ratings = ("Foreseeing ratings", "How close a prediction comes to a rating that the model never saw.")
    rankings = (
        "Finding what people will choose",
        "Every item is ranked for every user; what counts is how high the held-out ones come. "
        "Items of the user's history are left out.",
    )
    sections: list[Section] = []
    for metric in leading_metrics(results):
        title, text = rankings if "@" in metric else ratings
        sections.append(Pictures(title=title, text=text, pictures=pictures_for(results, metric), lead=True))
    return sections


def _data(ratings: Ratings) -> Pictures:
    return Pictures(
        title="The ratings themselves",
        text=f"{len(ratings):,} ratings by {ratings.n_users:,} users of {ratings.n_items:,} items, "
        f"on a scale from {ratings.catalogue.scale}. "
        f"{len(ratings) / max(1, ratings.n_users * ratings.n_items):.1%} of all pairs are rated.",
        pictures=[values_chart(ratings), popularity_chart(ratings)],
    )


def _reason_note(recommendations: Recommendations) -> str:
    if any(suggestion.because for suggestion in recommendations):
        return (
            "Under each title: the user's own ratings that carried it, and how much of the score each of them carried."
        )
    return "This model does not say which ratings carried a suggestion."


def _privacy(results: Results, command: str) -> Text:
    promises: Sequence[str] = list(
        dict.fromkeys(f"{row.model}: {row.guarantee}" for row in results.rows if row.guarantee)
    )
    if any(row.promise == "proven" for row in results.rows):
        promises = [*promises, MEASURED, SHOWN]
    return Text(
        title="What is promised to the users",
        note=" ".join(promises)
        or "Nothing: every model here was fitted without privacy, on exact ratings or on exact sums of them. "
        "These are the baselines that private models are held against.",
        code=f"# the same page again\n{command}" if command else "",
    )
