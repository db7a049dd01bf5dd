"""What the shop says when it refuses: a status of HTTP, a word for programs, a sentence for people."""

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


class Refused(Exception):  # noqa: N818 - it is an answer
    """An answer that is not what was asked for."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.body = {"code": code, "detail": detail}
        self.headers = {"retry-after": "1"} if status == 503 else {}


def invalid(detail: str) -> Refused:
    return Refused(422, "invalid", detail)


def no_such(what: str, name: object) -> Refused:
    return Refused(404, f"no_such_{what}", f"there is no {what} {name}")


def busy() -> Refused:
    return Refused(503, "busy", "this cannot be done at the moment: try again")


def refusal(error: TableError | TransportError) -> Refused:
    """What the table refused, in the words of the shop. What is a mistake of ours is raised as it is."""
    failures = error.failures if isinstance(error, TransactionCancelled) else (error,)
    short = [failure for failure in failures if type(failure) is ConditionFailed and _about(failure) == "Product"]
    if short:
        return Refused(409, "out_of_stock", "; ".join(map(_left, short)))
    match failures[0]:
        case NotUnique():
            return Refused(409, "email_taken", "somebody has registered with this e-mail address already")
        case NotFound(write=write) as failure if write:
            return no_such(_about(failure).lower(), next(iter(write.values.values())))
        case ConditionFailed():
            return Refused(409, "changed", "somebody else was faster: look at it again")
        case CursorError():
            return Refused(400, "bad_cursor", "`after` is not what a page of this list ended with")
        case CodecError() as failure:
            return invalid(str(failure))
        case Conflict() | TransportError():
            return busy()
        case _:
            raise error


def _about(failure: TableError) -> str:
    return failure.write.entity.tag if failure.write else ""


def _left(failure: ConditionFailed) -> str:
    name = failure.write.values["product_id"] if failure.write else "a product"
    return f"of {name} there are {failure.item['stock']['N'] if failure.item else 0} left"
