"""What it costs: the privacy unit, the guarantee."""
