"""What it is worth: splits, metrics, and reports of both. (Named so that ``dc.evaluate`` can be the function.)"""
