"""What a request may say, and the one sentence where it says something else.

No sentence repeats anything of a body: histories are in there, and answers end up in the logs of others.
"""

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt, StringConstraints, ValidationError

LONGEST_NAME = 1000
"""Letters of a title."""

Name = Annotated[str, StringConstraints(max_length=LONGEST_NAME)]


class RefusedError(Exception):
    """A request that is answered with a status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Body(BaseModel):
    """A body of JSON in which every field has its kind, and no other field is there."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class WithHistory(Body):
    """What every question about a user carries: the user's own ratings."""

    history: dict[Name, FiniteFloat] | list[Name] = Field(
        description="The user's own ratings, by title or identifier; or a list of what the user likes."
    )
    facts: dict[Name, Name | StrictInt] = Field(
        default_factory=dict, description="What the user says of themselves; some models recommend from it."
    )
    ignore_unknown: bool = Field(
        default=False, description="Leave out items that the release does not know, rather than refuse the request."
    )


class Recommend(WithHistory):
    """A question for recommendations."""

    k: int = Field(default=10, ge=1, description="How many items.")
    exclude: list[Name] | None = Field(default=None, description="Items that must not be recommended.")
    only: list[Name] | None = Field(default=None, description="Recommend these alone, for example what is in stock.")
    explain: bool = Field(default=True, description="Name the ratings that carried each item, if the model can.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"history": {"Toy Story (1995)": 5, "GoldenEye (1995)": 2}, "k": 5},
                {"history": ["Toy Story (1995)"], "k": 3, "exclude": ["GoldenEye (1995)"], "explain": False},
            ]
        }
    )


class Predict(WithHistory):
    """A question for the ratings that a user would give."""

    items: list[Name] = Field(description="Titles or identifiers.")

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"history": {"Toy Story (1995)": 5}, "items": ["GoldenEye (1995)"]}]}
    )


class Reason(BaseModel):
    """One of the user's own ratings that carried an item, and its share of the whole."""

    item: str
    title: str
    share: float


class Recommended(BaseModel):
    """One recommended item; ``because`` is empty where nothing of the history carried it."""

    item: str
    title: str
    score: float
    because: list[Reason]


class Recommendations(BaseModel):
    """What is recommended, best first; ``release`` is the checksum of the release that said it."""

    items: list[Recommended]
    ignored: int = Field(description="Items of the history that the release does not know.")
    release: str


class Predicted(BaseModel):
    """The rating to expect of one item."""

    item: str
    title: str
    predicted: float


class Predictions(BaseModel):
    """The ratings to expect, in the order of the question."""

    items: list[Predicted]
    ignored: int
    release: str


class Item(BaseModel):
    """One item of the catalogue; year 0 where it is not known."""

    item: str
    title: str
    year: int
    genres: list[str]


class Items(BaseModel):
    """What was found."""

    items: list[Item]
    release: str


class Similar(BaseModel):
    """Items like one, the most similar first."""

    items: list[Recommended]
    release: str


class Sentence(BaseModel):
    """What is wrong, in one sentence."""

    error: str


NAMES = "must be a list of titles or identifiers, each at most 1,000 letters"
RIGHT = {
    "history": "history must map titles or identifiers to ratings, or list what is liked",
    "facts": "facts must map names to text or whole numbers",
    "ignore_unknown": "ignore_unknown must be true or false",
    "k": "k must be a whole number from 1 on",
    "exclude": f"exclude {NAMES}",
    "only": f"only {NAMES}",
    "explain": "explain must be true or false",
    "items": f"items {NAMES}",
}
"""For each field what would be right."""

Asked = TypeVar("Asked", bound=Body)


def read(kind: type[Asked], body: bytes) -> Asked:
    """A body as the question that it should hold.

    >>> read(Recommend, b'{"history": ["Toy Story (1995)"]}').k
    10
    >>> read(Recommend, b'{"history": {"Toy Story (1995)": "five"}}')
    Traceback (most recent call last):
    discreet.service.asked.RefusedError: history must map titles or identifiers to ratings, or list what is liked
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    except ValueError:  # nested too deeply
        raise RefusedError(400, "the body is not JSON that can be read") from None
    known = f"known are {', '.join(kind.model_fields)}"
    if first["type"] == "json_invalid":
        raise RefusedError(400, "the body is not JSON")
    if not first["loc"]:
        raise RefusedError(400, f"the body must be a JSON object; {known}")
    if first["type"] == "extra_forbidden":
        raise RefusedError(422, f"the body has a field that is not known here; {known}")
    field = str(first["loc"][0])
    if first["type"] == "missing":
        raise RefusedError(422, f"{field} is missing: {RIGHT[field]}")
    raise RefusedError(422, RIGHT[field])
