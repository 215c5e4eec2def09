from .evaluating import evaluate_frames as evaluate_frames
from .ratings import SparkRatings as SparkRatings
from .recommending import recommend_frame as recommend_frame

__all__: list[str]
