"""
A user's objects in the bucket: everything below `users/<id>/`, every version of it.

Deleting is repeated until a listing comes back empty, so a second run finishes what a first one began.
An object that may not be deleted is an error with its name; the others are deleted all the same.

The SDK is loaded by the first call, as in `billing`.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.conf import settings

__all__ = ["BucketError", "client", "count_objects", "delete_objects", "prefix_for"]

AT_ONCE = 1000  # the most that S3 takes in one delete_objects
NAMED = 3


class BucketError(Exception):
    """Some objects could not be deleted. The message counts them, and names the first few with S3's reason."""


def client(address: str | None = None) -> Any:
    """Return a client for the configured store, at the configured address unless told another."""
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=address or settings.S3_ENDPOINT_URL or None,
        aws_access_key_id=settings.S3_ACCESS_KEY_ID,
        aws_secret_access_key=settings.S3_SECRET_ACCESS_KEY,
        region_name=settings.S3_REGION,
        config=Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 1}),
    )


def prefix_for(user_id: int) -> str:
    """Return where this user's objects are. It ends with a slash: user 1 is not the beginning of user 10."""
    return f"users/{int(user_id)}/"


def count_objects(bucket: str, prefix: str, *, address: str | None = None) -> int:
    """Return how many versions and delete markers are stored below the prefix."""
    return sum(1 for _ in _versions(client(address), bucket, prefix))


def delete_objects(bucket: str, prefix: str) -> int:
    """Delete everything below the prefix; return how many versions and markers this call deleted."""
    if len(prefix) < 2 or not prefix.endswith("/"):
        message = f"{prefix!r} is no user's place in the bucket: it must end with a slash."
        raise ValueError(message)
    s3 = client()
    deleted = 0
    while True:
        gone, errors = _delete_listed(s3, bucket, prefix)
        deleted += gone
        if errors:
            raise BucketError(_describe(bucket, prefix, gone=deleted, errors=errors))
        if not gone:
            return deleted


def _delete_listed(s3: Any, bucket: str, prefix: str) -> tuple[int, list[dict]]:
    """Go through one listing in batches; return how many went, and what S3 said about the rest."""
    gone, errors = 0, []
    listing = _versions(s3, bucket, prefix)
    while batch := list(islice(listing, AT_ONCE)):
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": batch})
        gone += len(answer.get("Deleted", []))
        errors += answer.get("Errors", [])
    return gone, errors


def _versions(s3: Any, bucket: str, prefix: str) -> Iterator[dict[str, str]]:
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
        for entry in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
            yield {"Key": entry["Key"], "VersionId": entry["VersionId"]}


def _describe(bucket: str, prefix: str, *, gone: int, errors: list[dict]) -> str:
    named = ", ".join(f"{error['Key']} ({error['Code']})" for error in errors[:NAMED])
    more = f" and {len(errors) - NAMED} more" if len(errors) > NAMED else ""
    return f"{len(errors)} objects below {prefix} in {bucket} could not be deleted: {named}{more}. {gone} were."
