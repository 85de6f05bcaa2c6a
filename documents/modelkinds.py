"""
Kinds whose content is a row of the user's own model.

The model row is the truth for everybody else; the document is its history and its guard. Both are written in one
transaction. A row that was changed behind our back (shell, import, another form) is noticed at the next read or
save: the change becomes a version of its own, marked as from outside, so a save that had not seen it is refused
like any other.
"""

import json
import uuid
from typing import TYPE_CHECKING, Any, ClassVar

from django.core.checks import CheckMessage, Error
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import IntegrityError, models, router, transaction

from .door import Content, read_value
from .errors import Invalid, NotFound
from .fields import from_json, supported, to_json
from .kinds import DocumentKind, Swap
from .people import Actor, actor

if TYPE_CHECKING:
    from .change import Change
    from .models import Document

__all__ = ["ModelKind"]


class ModelKind(DocumentKind):
    """
    A kind over `model`, with `fields` as its content: `{"name": "Ada", "born": "1815-12-10"}`.

    The document's key is the value of `key_field`. `can_create` lets a save on version 0 make a row; it needs a
    `key_field` that a person can choose (a slug, a UUID).
    """

    model: ClassVar[type[models.Model]]
    fields: ClassVar[list[str]]
    key_field: ClassVar[str] = "pk"
    can_create: ClassVar[bool] = False
    exact_text = False  # the row keeps no spelling, so a text in another one would look changed

    def clean(self, content: Any) -> Any:
        """Return the content in the model's own spelling. Raise Invalid for each field that does not fit."""
        if not isinstance(content, dict):
            raise Invalid(("", "an object with the model's fields is expected"))
        faults = [(f"/{name}", "is missing") for name in self.fields if name not in content]
        faults += [(f"/{name}", "is not a field of this document") for name in content if name not in self.fields]
        row = self.model()
        for field in self._fields():
            if field.name in content:
                faults += _set(row, field, content[field.name])
        if faults:
            raise Invalid(*faults)
        return self.content_of(row)

    def content_of(self, row: models.Model) -> dict[str, Any]:
        """Return what a row says, as content."""
        return {field.name: to_json(field, row) for field in self._fields()}

    def row(self, key: str, *, lock: bool = False) -> models.Model | None:
        """Return the row of a document, or None. `lock` needs a transaction."""
        rows = self.model._base_manager.using(router.db_for_write(self.model))
        if lock:
            rows = rows.select_for_update()
        try:
            return rows.filter(**{self.key_field: key}).first()
        except (ValueError, ValidationError):  # a key that this field cannot even be asked for
            return None

    def before_read(self, key: str) -> None:
        """Bring in what happened to the row outside of documents."""
        from .database import database
        from .reading import stored

        head = stored(self.name, key, using=database())
        row = self.row(key)
        if self._agrees(None if head is None or not head.text else head.text, row):
            return
        with transaction.atomic(using=database()):
            self._bring_in(key)

    def swap(self, change: "Change", swap: Swap, *, using: str) -> "int | None":
        """Write change and row together, or neither. An outside change becomes a version first."""
        with transaction.atomic(using=using):
            row = self._bring_in(change.key)
            version = swap(change, using=using)
            if version is not None:
                self._write(change, row)
            return version

    def hold(self, key: str) -> "Document | None":
        """Lock the document. It comes first, then the row, always: two savers wait for each other in one order."""
        from .database import database
        from .models import Document

        return Document.objects.using(database()).select_for_update().filter(kind=self.name, key=key).first()

    def adopt(self, row: models.Model, *, by: Any) -> None:
        """Make a version of what another form wrote into the row, under the name of who did. In a transaction."""
        self._bring_in(str(getattr(row, self.key_field)), by=by)

    def _bring_in(self, key: str, *, by: Any = None) -> models.Model | None:
        from .change import NOTHING
        from .database import database
        from .reading import text_at

        using = database()
        document = self.hold(key)
        row = self.row(key, lock=True)
        known = text_at(document, document.version) if document is not None else None
        if self._agrees(known, row):
            return row
        content = NOTHING if row is None else read_value(self.content_of(row), self.limits)
        who = actor(by, "" if by else "outside documents")
        self._as_version(key, document.version if document is not None else 0, content, using, who)
        return row

    def _as_version(self, key: str, version: int, content: Content, using: str, who: Actor) -> None:
        from .change import Change
        from .swapping import swap

        name = uuid.uuid4()
        outside = Change(
            kind=self,
            key=key,
            expected_version=version,
            content=content,
            sent=content,
            save_id=name,
            writer=str(name),
            actor=who,
            action="outside" if content.text else "delete",
            schema=self.schema,
            revive=bool(version),
        )
        swap(outside, using=using)

    def _agrees(self, text: str | None, row: models.Model | None) -> bool:
        if text is None or row is None:
            return text is None and row is None
        return bool(json.loads(text) == self.content_of(row))

    def _write(self, change: "Change", row: models.Model | None) -> None:
        if change.deletes:
            if row is not None:
                row.delete()
            return
        if row is None:
            if not self.can_create:
                message = f"There is no {self.model._meta.verbose_name} {change.key!r}, and saving makes none."
                raise NotFound(message)
            row = self.model(**{self.key_field: change.key})
        for field in self._fields():
            _set(row, field, change.content.value[field.name])
        others = {f.name for f in self.model._meta.fields if f.name not in self.fields}
        try:
            row.full_clean(exclude=others if not row._state.adding else None)
            with transaction.atomic(using=router.db_for_write(self.model)):
                row.save(update_fields=None if row._state.adding else self.fields)
        except ValidationError as error:
            raise Invalid(
                *((f"/{name}", text) for name, texts in error.message_dict.items() for text in texts)
            ) from error
        except IntegrityError as error:
            raise Invalid(("", f"the database refused it: {error}")) from error

    def _fields(self) -> list[Any]:
        return [self.model._meta.get_field(name) for name in self.fields]

    def check(self) -> list[CheckMessage]:
        """E003: a field that cannot be part of a document. E004: a key field that does not name one row."""
        found: list[CheckMessage] = []
        for name in self.fields:
            try:
                why = supported(self.model._meta.get_field(name))
            except FieldDoesNotExist:
                why = "the model has no such field"
            if why:
                found.append(
                    Error(
                        f"The kind {self.name!r} cannot keep {self.model.__name__}.{name}: {why}.",
                        hint="Take it out of `fields`, or keep it in a JSONField.",
                        obj=type(self),
                        id="documents.E003",
                    )
                )
        if self.key_field != "pk" and not self.model._meta.get_field(self.key_field).unique:  # type: ignore[union-attr]
            found.append(
                Error(
                    f"The kind {self.name!r} finds its rows by {self.key_field}, which is not unique.",
                    hint="Name a unique field in `key_field`, or leave it out.",
                    obj=type(self),
                    id="documents.E004",
                )
            )
        return found


def _set(row: models.Model, field: Any, value: Any) -> list[tuple[str, str]]:
    try:
        setattr(row, field.attname, from_json(field, value, row))
    except ValidationError as error:
        return [(f"/{field.name}", message) for message in error.messages]
    return []
