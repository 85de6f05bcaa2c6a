"""Wording: kinds of notifications, and what they say in the reader's language."""

from dataclasses import dataclass

from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

KINDS = {}

_LINES = 50  # of a digest; what is left out is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of notification: its words, and whether it may wait for the morning or the digest."""

    name: str
    subject: Promise
    body: Promise
    urgent: bool = False


def _kind(**words):
    kind = Kind(**words)
    KINDS[kind.name] = kind


_kind(name="comment", subject=_("%(who)s commented on %(what)s"), body=_("%(who)s wrote: %(text)s"))
_kind(name="receipt", subject=_("Your order %(order)s"), body=_("We have received %(amount)s. Thank you."))
_kind(
    name="security",
    subject=_("New sign-in to your account"),
    body=_("Somebody signed in from %(where)s. If it was not you, change your password."),
    urgent=True,
)


def words_of(kind, facts, language):
    """Return (subject, body) in that language."""
    with translation.override(language):
        found = KINDS[kind]
        return str(found.subject) % facts, str(found.body) % facts


def words_of_many(items, language):
    """Return (subject, body) of a digest of (kind, facts) pairs. What does not fit is told by its number."""
    with translation.override(language):
        subject = ngettext("%(count)s thing happened", "%(count)s things happened", len(items)) % {"count": len(items)}
        lines = [words_of(kind, facts, language)[0] for kind, facts in items[:_LINES]]
        if len(items) > _LINES:
            lines.append(gettext("and %(count)s more") % {"count": len(items) - _LINES})
    return subject, "\n".join(lines)
