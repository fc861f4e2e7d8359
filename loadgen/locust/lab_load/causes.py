"""Why a request of the generator failed."""


def innermost_cause(error: BaseException) -> str:
    """Return the innermost cause of an error. requests wraps that of the operating system several times."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return str(error)
