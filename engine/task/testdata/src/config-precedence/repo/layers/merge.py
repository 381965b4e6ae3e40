"""Put layers on top of each other."""


def merge(layers):
    """One dict of all layers, and which layer each value is from.

    layers is a list of (label, values), the weakest first.
    """
    values, origin = {}, {}
    for label, layer in layers:
        for name, value in layer.items():
            if not value:
                continue
            values[name] = value
            origin[name] = label
    return values, origin
