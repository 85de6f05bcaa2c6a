"""
The tag `{% document_session "sheet" key %}`: the chip and the panel of one document, and the script, once per page.

    {% load documents %}
    <form method="post">{% document_session "book" book.slug %}{{ form }}</form>      the form saves itself
    {% document_session "sheet" "budget" form="its-id" create=empty words=german %}
"""

import json
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.widgets import attributes, element, script

register = template.Library()


@register.simple_tag(takes_context=True)
def document_session(
    context: template.Context,
    kind: str,
    key: Any,
    *,
    form: str = "",
    create: Any = None,
    words: dict[str, str] | None = None,
) -> SafeString:
    """
    Render `<document-session>` for a document, and its script the first time.

    `form` is the id of a form elsewhere on the page; inside a form none is needed. `create` is the content to begin
    with where there is no document yet. `words` replaces texts by name, as listed in documents/words.py.
    """
    said = attributes(kind, str(key), context.get("request"), words)
    if form:
        said["for"] = form
    if create is not None:
        said["data-create"] = json.dumps(create)
    if context.render_context.get(__name__):
        return element(said)
    context.render_context[__name__] = True
    return format_html("{}{}", script(nonce=str(context.get("csp_nonce") or "")), element(said))
