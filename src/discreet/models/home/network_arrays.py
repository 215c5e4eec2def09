"""The arrays of an autoencoder's release: weights and constants of its layers."""

from discreet.releases.declared import Array


def network_arrays(hidden: int, latent: int | None) -> tuple[Array, ...]:
    """Those of a network with these layers; without a hidden one, codes are read off the items directly.

    A latent layer of any length is None.
    """
    code = "code" if latent is None else latent
    first = hidden or code
    inner = (
        Array("code_weights", "float32", (code, hidden)),
        Array("code_bias", "float32", (code,)),
        Array("expand_weights", "float32", (hidden, code)),
        Array("expand_bias", "float32", (hidden,)),
    )
    return (
        Array("input_weights", "float32", ("items", first)),
        Array("input_bias", "float32", (first,)),
        *(inner if hidden else ()),
        Array("output_weights", "float32", ("items", first)),
        Array("output_bias", "float32", ("items",)),
    )
