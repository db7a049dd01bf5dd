"""Error responses: an HTTP status, a code for programs and a sentence for people."""

from __future__ import annotations

from prejoin import (
    CodecError,
    ConditionFailed,
    Conflict,
    CursorError,
    NotFound,
    NotUnique,
    TableError,
    TransactionCancelled,
    TransportError,
)


class HttpError(Exception):
    """An error response."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.body = {"code": code, "detail": detail}
        self.headers = {"retry-after": "1"} if status == 503 else {}


def invalid(detail: str) -> HttpError:
    return HttpError(422, "invalid", detail)


def not_found(what: str, name: object) -> HttpError:
    return HttpError(404, f"no_such_{what}", f"there is no {what} {name}")


def busy() -> HttpError:
    return HttpError(503, "busy", "this cannot be done at the moment: try again")


def http_error(error: TableError | TransportError) -> HttpError:
    """The response for an error of the table. Errors that a request cannot cause are raised again."""
    failures = error.failures if isinstance(error, TransactionCancelled) else (error,)
    sold_out = [failure for failure in failures if type(failure) is ConditionFailed and _entity(failure) == "Product"]
    if sold_out:
        return HttpError(409, "out_of_stock", "; ".join(map(_stock_left, sold_out)))
    match failures[0]:
        case NotUnique():
            return HttpError(409, "email_taken", "somebody has registered with this e-mail address already")
        case NotFound(write=write) as failure if write:
            return not_found(_entity(failure).lower(), next(iter(write.values.values())))
        case ConditionFailed():
            return HttpError(409, "changed", "somebody else was faster: look at it again")
        case CursorError():
            return HttpError(400, "bad_cursor", "`after` is not what a page of this list ended with")
        case CodecError() as failure:
            return invalid(str(failure))
        case Conflict() | TransportError():
            return busy()
        case _:
            raise error


def _entity(failure: TableError) -> str:
    return failure.write.entity.tag if failure.write else ""


def _stock_left(failure: ConditionFailed) -> str:
    name = failure.write.values["product_id"] if failure.write else "a product"
    return f"of {name} there are {failure.item['stock']['N'] if failure.item else 0} left"
