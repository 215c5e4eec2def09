"""What it is worth: metrics, protocols, comparisons."""
