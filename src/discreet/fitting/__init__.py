"""What happens around a fit: choosing a model, paying for it, checking it by replay."""
