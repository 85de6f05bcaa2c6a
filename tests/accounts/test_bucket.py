"""A user's objects: all of them, all versions, nobody else's; and what may not go is named. boto3, a real server."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from project.accounts import bucket


def _put(s3, name, *keys):
    for key in keys:
        s3.put_object(Bucket=name, Key=key, Body=b"x")


def _keys(s3, name):
    return [entry["Key"] for entry in s3.list_objects_v2(Bucket=name).get("Contents", [])]


def test_everything_below_the_prefix_goes_and_nothing_else(s3_itself, bucket_name):
    _put(s3_itself, bucket_name, "users/1/a", "users/1/b/c", "users/10/a", "users/1", "other")

    assert bucket.delete_objects(bucket_name, bucket.prefix_for(1)) == 2

    assert _keys(s3_itself, bucket_name) == ["other", "users/1", "users/10/a"]


def test_an_empty_place_is_already_gone(bucket_name):
    assert bucket.delete_objects(bucket_name, bucket.prefix_for(1)) == 0


def test_older_versions_and_delete_markers_go_too(s3_itself, bucket_name):
    s3_itself.put_bucket_versioning(Bucket=bucket_name, VersioningConfiguration={"Status": "Enabled"})
    _put(s3_itself, bucket_name, "users/1/a", "users/1/a", "users/1/b")
    s3_itself.delete_object(Bucket=bucket_name, Key="users/1/b")

    assert bucket.delete_objects(bucket_name, bucket.prefix_for(1)) == 4

    left = s3_itself.list_object_versions(Bucket=bucket_name)
    assert "Versions" not in left
    assert "DeleteMarkers" not in left


def test_more_than_a_thousand_objects_go_in_batches_until_a_listing_is_empty(s3_itself, s3_front, bucket_name):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: _put(s3_itself, bucket_name, f"users/1/{number}"), range(1001)))
    before = len(s3_front.calls())

    assert bucket.delete_objects(bucket_name, bucket.prefix_for(1)) == 1001

    calls = s3_front.calls()[before:]
    assert [call.content().count(b"<Object>") for call in calls if call.method == "POST"] == [1000, 1]
    assert calls[-1].method == "GET"


def test_an_object_that_may_not_go_is_named_and_the_others_go(s3_itself, bucket_name):
    _put(s3_itself, bucket_name, "users/1/a", "users/1/kept-1", "users/1/kept-2", "users/1/z")
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject"}
    policy = {"Version": "2012-10-17", "Statement": [deny | {"Resource": f"arn:aws:s3:::{bucket_name}/users/1/kept-*"}]}
    s3_itself.put_bucket_policy(Bucket=bucket_name, Policy=json.dumps(policy))

    with pytest.raises(bucket.BucketError) as caught:
        bucket.delete_objects(bucket_name, bucket.prefix_for(1))

    assert str(caught.value) == (
        f"2 objects below users/1/ in {bucket_name} could not be deleted: "
        "users/1/kept-1 (AccessDenied), users/1/kept-2 (AccessDenied). 2 were."
    )
    assert _keys(s3_itself, bucket_name) == ["users/1/kept-1", "users/1/kept-2"]


def test_access_denied_is_an_error_not_already_gone(s3_front, bucket_name):
    s3_front.refuse_next("GET", f"/{bucket_name}", status=403, body=_DENIED, content_type="application/xml")

    with pytest.raises(ClientError, match="AccessDenied"):
        bucket.delete_objects(bucket_name, bucket.prefix_for(1))


_DENIED = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


def test_a_missing_bucket_is_an_error_not_already_gone(s3_front):
    with pytest.raises(ClientError, match="NoSuchBucket"):
        bucket.delete_objects("no-such-bucket", bucket.prefix_for(1))


def test_an_unreachable_store_is_an_error(settings):
    settings.S3_ENDPOINT_URL = "http://127.0.0.1:9"

    with pytest.raises(EndpointConnectionError):
        bucket.delete_objects("any", bucket.prefix_for(1))


@pytest.mark.parametrize("prefix", ["", "/", "users/1"])
def test_a_prefix_that_could_mean_somebody_else_is_refused(prefix):
    with pytest.raises(ValueError, match="no user's place"):
        bucket.delete_objects("any", prefix)
