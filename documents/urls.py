"""Addresses, to be mounted by `path("documents/", include("documents.urls"))`."""

from django.urls import path

from documents.views import conflicts, csrf, document, nowhere, revisions

app_name = "documents"

urlpatterns = [
    path("csrf/", csrf.csrf, name="csrf"),
    path("<str:kind>/<str:key>/", document.document, name="document"),
    path("<str:kind>/<str:key>/revisions/", revisions.revisions, name="revisions"),
    path("<str:kind>/<str:key>/revisions/<str:version>/", revisions.revision, name="revision"),
    path("<str:kind>/<str:key>/diff/", revisions.diff, name="diff"),
    path("<str:kind>/<str:key>/restore/", revisions.restore, name="restore"),
    path("<str:kind>/<str:key>/conflicts/", conflicts.listing, name="conflicts"),
    path("<str:kind>/<str:key>/conflicts/<str:pk>/", conflicts.conflict, name="conflict"),
    path("<str:kind>/<str:key>/conflicts/<str:pk>/settle/", conflicts.settle, name="settle"),
    path("<str:kind>/<str:key>/conflicts/<str:pk>/seen/", conflicts.seen, name="seen"),
    # JSON too, and no redirect to the address with a slash: a PUT would lose its body on the way.
    path("<path:rest>", nowhere.nowhere),
]
