"""Secrets in URLs are masked, and other text is unchanged."""

from __future__ import annotations

import pytest

from msmq_wire.urls import mask_secrets, mask_url_secrets


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/x?sig=a&se=b", "https://h/x?***"),
        ("https://h/x?a", "https://h/x?***"),
        ("https://h/x#a=b", "https://h/x#***"),
        ("https://user:pass@h/x", "https://***@h/x"),
        ("https://user:pa/ss@h/x?sig=a", "https://***@h/x?***"),
        ("https://user:pa?ss@h/x", "https://***@h/x"),
        ("https://token@h/x", "https://***@h/x"),
        ("abfss://box@account/x?sig=a b", "abfss://box@account/x?***"),
        ("gs://box/x?.pcap", "gs://box/x?.pcap"),
        ("abfss://box:pass@account/x", "abfss://***@account/x"),
        ("s3://bucket/day?.pcap", "s3://bucket/day?.pcap"),
        ("s3://bucket/x?X-Amz-Signature=a", "s3://bucket/x?***"),
        ("S3://key:pass@bucket/x", "S3://***@bucket/x"),
        ("file:///captures/a?.pcap", "file:///captures/a?.pcap"),
        ("/captures/a?b=c", "/captures/a?b=c"),
        ("C:/captures/a#b", "C:/captures/a#b"),
        ("tables", "tables"),
    ],
)
def test_the_query_and_the_credentials_of_a_url_are_masked(url: str, shown: str) -> None:
    assert mask_url_secrets(url) == shown
    assert mask_url_secrets(shown) == shown


def test_the_secrets_of_all_urls_in_a_text_are_masked() -> None:
    text = "cannot open 'https://u:p@h/x?sig=a': see s3://b/y?k=v, not /data/a?b=c"
    assert mask_secrets(text) == "cannot open 'https://***@h/x?***': see s3://b/y?*** not /data/a?b=c"
    assert mask_secrets("nothing here?a=b") == "nothing here?a=b"
