"""Arrays of a library that nobody knows."""


class Foreign:
    """Anything with DLPack."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **arguments):
        return self.x.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()
