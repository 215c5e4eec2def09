"""Values that are sent to every executor once."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Shared:
    """A value that is sent to every executor once; called, it is there."""

    def __init__(self, broadcast: Any) -> None:
        self._broadcast = broadcast

    @classmethod
    def of(cls, frame: "DataFrame", value: object) -> "Shared":
        """Send it to the executors of a data frame's session."""
        return cls(frame.sparkSession.sparkContext.broadcast(value))

    def __call__(self) -> Any:
        """The value."""
        return self._broadcast.value
