"""A variational autoencoder with a privacy level for every user, as published (Fang, Du, Wu 2022)."""
