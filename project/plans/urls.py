"""Addresses of the plans: pages for people, `api/` for programs."""

from django.urls import path

from . import api, views

app_name = "plans"

urlpatterns = [
    path("", views.plan_list, name="list"),
    path("<uuid:pk>/", views.plan, name="plan"),
    path("<uuid:pk>/approve/", views.approve, name="approve"),
    path("<uuid:pk>/reject/", views.reject, name="reject"),
    path("api/", api.propose, name="api-propose"),
    path("api/<uuid:pk>/", api.plan, name="api-plan"),
    path("api/<uuid:pk>/approve/", api.approve, name="api-approve"),
]
