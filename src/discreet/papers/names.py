"""What the command line and saved releases call each paper. The part after ``paper:`` is the name of its folder."""

from discreet.papers.hybrid_knn.algorithm import HybridKNN

PAPERS = {
    "paper:hybrid-knn": HybridKNN,
}
