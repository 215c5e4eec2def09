"""The arrays of an autoencoder's release: weights and constants of its layers."""

from discreet.releases.declared import Array


def network_arrays(hidden: int, latent: int) -> tuple[Array, ...]:
    """Those of a network with these layers; without a hidden one, codes are read off the items directly."""
    first = hidden or latent
    inner = (
        Array("code_weights", "float32", (latent, hidden)),
        Array("code_bias", "float32", (latent,)),
        Array("expand_weights", "float32", (hidden, latent)),
        Array("expand_bias", "float32", (hidden,)),
    )
    return (
        Array("input_weights", "float32", ("items", first)),
        Array("input_bias", "float32", (first,)),
        *(inner if hidden else ()),
        Array("output_weights", "float32", ("items", first)),
        Array("output_bias", "float32", ("items",)),
    )
