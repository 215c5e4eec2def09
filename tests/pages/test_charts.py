"""Pictures hold the numbers of the results, and say them in words."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError
from discreet.evaluation.results import Estimate, Results, Row
from discreet.pages.charts import error_chart, metric_chart, pictures_of, speed_chart
from discreet.pages.data_charts import popularity_chart, values_chart
from discreet.pages.drawing import HALF, WIDTH, colours, shapes
from discreet.pages.placing import DOT, HEIGHT, LETTER, place_names
from discreet.pages.style import SERIES
from discreet.pages.words import leading_metrics, ordered_rows


def row(model: str, rmse: float, ndcg: float | None = None, seconds: float | None = 0.5) -> Row:
    metrics = {"rmse": Estimate(rmse, rmse - 0.01, rmse + 0.01)}
    if ndcg is not None:
        metrics["ndcg@10"] = Estimate(ndcg, ndcg - 0.01, ndcg + 0.01)
    cdf = ((0.0, 0.1), (0.5, 0.4), (1.0, 0.73), (1.5, 0.95), (4.0, 1.0))
    return Row(model, metrics, seconds, 0.1, 100.0, cdf=cdf)


RESULTS = Results("films", "5 folds", (row("b", 0.95, 0.1), row("a", 0.91, 0.3, 2.0), row("c", 0.93)), "95 % intervals")


def test_best_first_whatever_best_means():
    assert [each.model for each in ordered_rows(RESULTS, "rmse")] == ["a", "c", "b"]
    assert [each.model for each in ordered_rows(RESULTS, "ndcg@10")] == ["a", "b"]
    assert leading_metrics(RESULTS) == ["rmse", "ndcg@10"]


def test_a_metric_in_words():
    picture = metric_chart(RESULTS, "rmse")
    assert picture.title == "a comes first by RMSE"
    assert picture.alt == "RMSE of 3 models, best first: a 0.910, c 0.930, b 0.950"
    assert "95 % intervals" in picture.caption


def test_the_numbers_are_in_the_drawing():
    svg = metric_chart(RESULTS, "rmse").svg()
    for words in ("0.910", "0.930", "0.950", "a: RMSE 0.9100 (0.9000 to 0.9200)"):
        assert words in svg


def test_time_against_accuracy():
    picture = speed_chart(RESULTS, "rmse")
    assert "a 0.910 in 2.0 s" in picture.alt
    svg = picture.svg()
    assert "a: RMSE 0.9100, fitted in 2.0 s" in svg
    untimed = Results("films", "as given", (row("a", 0.9, seconds=None),))
    with pytest.raises(InputError, match="a fit time"):
        speed_chart(untimed, "rmse")


def test_models_that_tie_or_take_no_time_can_be_drawn():
    same = Results("films", "5 folds", (row("a", 0.9, seconds=0.0), row("b", 0.9, seconds=0.0)))
    for picture in pictures_of(same):
        assert picture.svg().startswith("<svg")


def test_errors_in_words():
    assert error_chart(RESULTS).title == "73% of held-out ratings are foreseen within 1"


def test_what_is_not_there_cannot_be_drawn():
    with pytest.raises(InputError, match="no model of the results have the metric 'mae'"):
        metric_chart(RESULTS, "mae")
    with pytest.raises(InputError, match="no model of the results predicts ratings"):
        error_chart(Results("films", "s", (Row("a", {"ndcg@10": Estimate(0.1, 0.1, 0.1)}),)))


def ratings_of(items: list[int], values: list[float], size: int) -> Ratings:
    catalogue = Catalogue.of([str(item) for item in range(size)], Scale(1, 5))
    users = list(range(len(items)))
    return Ratings.of_columns(catalogue, Labels.of([str(user) for user in users], what="user"), users, items, values)


def test_long_tail_by_hand():
    # Ten items: the first has 11 ratings, nine have one each.
    ratings = ratings_of([0] * 11 + list(range(1, 10)), [3] * 20, 12)
    picture = popularity_chart(ratings)
    assert picture.title == "One item in ten gets 55% of the ratings"
    assert "10 items that anybody rated" in picture.caption


def test_ratings_by_hand():
    picture = values_chart(ratings_of([0, 1, 2, 3], [4, 4, 4, 2], 4))
    assert picture.title == "The most common rating is 4"
    assert picture.alt == "Bar chart of ratings given: 2: 25%, 4: 75%"
    assert "their mean is 3.50" in picture.caption


def test_a_continuous_scale_is_binned():
    values = np.random.default_rng(1).uniform(1, 5, 500)
    picture = values_chart(ratings_of([0] * 500, values.tolist(), 1))
    assert picture.alt.count("%") == 20


def test_nothing_to_draw():
    empty = ratings_of([], [], 3)
    for draw in (popularity_chart, values_chart):
        with pytest.raises(InputError, match="no ratings to draw"):
            draw(empty)


def test_files(tmp_path):
    picture = values_chart(dc.synthetic(users=20, items=10, ratings=100, seed=1))
    picture.save(tmp_path / "new" / "ratings.png")
    picture.save(tmp_path / "ratings.svg")
    assert (tmp_path / "new" / "ratings.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "ratings.svg").read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(InputError, match=r"saved as \.svg or \.png, got 'ratings\.gif'"):
        picture.save(tmp_path / "ratings.gif")


@given(
    st.lists(
        st.tuples(st.text("abc", min_size=1, max_size=12), st.floats(10, 390), st.floats(10, 290)),
        min_size=1,
        max_size=15,
    )
)
def test_names_cover_nothing(points):
    names, dots = [name for name, _, _ in points], [(x, y) for _, x, y in points]
    places = place_names(names, dots, 400, 300)
    boxes = []
    for number, place in enumerate(places):
        if place is None:
            continue
        box = (place.x, place.y - HEIGHT / 2, place.x + LETTER * len(names[number]), place.y + HEIGHT / 2)
        assert box[0] >= 0
        assert box[1] >= 0
        assert box[2] <= 400
        assert box[3] <= 300
        others = [(x - DOT, y - DOT, x + DOT, y + DOT) for other, (x, y) in enumerate(dots) if other != number]
        for a, b, c, d in [*boxes, *others]:
            assert box[2] <= a or box[0] >= c or box[3] <= b or box[1] >= d
        boxes.append(box)


def test_a_crowd_of_names_finds_room_with_lines_that_lead_there():
    dots = [(200 + 16 * (place % 4), 150 + 16 * (place // 4)) for place in range(12)]
    places = place_names(["some-model"] * 12, dots, 430, 340)
    assert all(place is not None for place in places)
    lines = [place.line for place in places if place is not None and place.line != (0, 0, 0, 0)]
    assert lines
    for place, (x, y) in zip(places, dots, strict=True):
        assert place is not None
        if place.line != (0, 0, 0, 0):
            assert math.hypot(place.line[0] - x, place.line[1] - y) == pytest.approx(DOT)  # it starts at its dot
            left, right = place.x, place.x + LETTER * len("some-model")
            assert left - 4 <= place.line[2] <= right + 4 and abs(place.line[3] - place.y) <= HEIGHT


MANY = Results(
    "films",
    "5 folds",
    tuple(row(f"model-{place:02}", 0.9 + 0.004 * place, 0.1 + 0.01 * place, 0.1 * 2**place) for place in range(15)),
)


def test_every_model_has_a_look_of_its_own():
    looks = set(zip(colours(15), shapes(15), strict=True))
    assert len(looks) == 15
    symbols = re.compile(r'aria-label="(model-\d\d): RMSE [^"]*" [^>]*d="([^"]*)" fill="([^"]*)"')
    for picture in (metric_chart(MANY, "rmse"), speed_chart(MANY, "rmse")):
        for drawn in (picture.svg(), picture.narrow_svg()):
            assert drawn is not None
            found = {name: (outline[:20], fill) for name, outline, fill in symbols.findall(drawn)}
            assert len(found) == 15
            assert len(set(found.values())) == 15


def test_the_lines_of_models_differ_too():
    lines = set(re.findall(r'stroke="(#[0-9a-f]{6})"[^>]*?(?:stroke-dasharray="([^"]*)")', error_chart(MANY).svg()))
    assert len([line for line in lines if line[0] in SERIES]) >= 15


def test_every_model_has_its_name_beside_its_mark():
    for results in (RESULTS, MANY):
        for metric in ("rmse", "ndcg@10"):
            for width in (HALF, WIDTH):
                drawn = speed_chart(results, metric, width=width).svg()
                names = [each.model for each in ordered_rows(results, metric)]
                assert all(f">{name}</text>" in drawn for name in names)


def test_a_picture_for_a_phone_fits_on_it():
    for picture in pictures_of(MANY):
        narrow = picture.narrow_svg()
        assert narrow is not None
        box = re.search(r'viewBox="0 0 ([\d.]+) ', narrow)
        assert box is not None
        assert float(box.group(1)) <= 400  # so that letters are not shrunk by more than a fifth on 326 pixels


def test_a_picture_without_a_neighbour_goes_across_the_page():
    assert [(picture.name, picture.wide) for picture in pictures_of(MANY)] == [
        ("rmse", True),
        ("rmse-and-time", False),
        ("errors", False),
        ("ndcg-10", True),
        ("ndcg-10-and-time", True),
    ]


def test_importing_pages_does_not_import_altair():
    code = "import discreet.pages.comparisons, sys; sys.exit('altair' in sys.modules or 'vl_convert' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
