"""Addresses of the branch's pages."""

from django.urls import path

from . import views

app_name = "branches"

urlpatterns = [
    path("", views.branch, name="branch"),
    path("history/", views.history, name="history"),
    path("<uuid:pk>/", views.reset, name="reset"),
    path("<uuid:pk>/cancel/", views.cancel, name="cancel"),
]
