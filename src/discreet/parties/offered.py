"""The user's own copy of the model that an offer names. Nothing of the offer is executed."""

import ast
from typing import Any

from discreet.errors import DiscreetError
from discreet.names import MODELS, find_kind
from discreet.protocol.wire import RefusedError, refuse_unless


def offered_model(text: str) -> Any:
    """The model that is written as its ``repr``, if it is one of Discreet's own with settings that it takes.

    >>> offered_model("Bias(item_damping=2.0, user_damping=1.0)")
    Bias(item_damping=2.0, user_damping=1.0)
    >>> offered_model("os.system('true')")
    Traceback (most recent call last):
    discreet.protocol.wire.RefusedError: the offer names no model of Discreet
    """
    unknown = "the offer names no model of Discreet"
    try:
        call = ast.parse(text, mode="eval").body
        refuse_unless(isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args, unknown)
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        settings = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        names = [name for name, place in MODELS.items() if place.partition(":")[2] == call.func.id]
        refuse_unless(len(names) == 1, unknown)
        model = find_kind(names[0])(**settings)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, DiscreetError) as error:
        raise error if isinstance(error, RefusedError) else RefusedError(unknown) from None
    refuse_unless(repr(model) == text, "the offer names a model with settings that this version has not")
    return model
