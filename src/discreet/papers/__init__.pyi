from .hybrid_knn.algorithm import HybridKNN as HybridKNN

__all__: list[str]
