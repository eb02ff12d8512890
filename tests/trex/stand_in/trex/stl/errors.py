# SPDX-License-Identifier: Apache-2.0
"""The kinds of errors of TRex's API."""


class STLError(Exception):
    """Anything that goes wrong."""


class STLArgumentError(STLError):
    def __init__(self, name, got, extended=""):
        super().__init__(f"Argument: '{name}' invalid value: '{got}' {extended}".strip())


class STLTypeError(STLError):
    def __init__(self, name, got, wanted):
        super().__init__(f"Argument: '{name}' invalid type: '{got.__name__}', expecting type(s): {wanted}.")


def validate(name, value, types):
    """As the real client does; a bool is an int there too."""
    if not isinstance(value, types):
        raise STLTypeError(name, type(value), types)
