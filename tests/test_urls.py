"""URLs are printed without what lets somebody in, and other text as it is."""

from __future__ import annotations

import pytest

from msmq_wire.urls import printable, printable_url


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
def test_a_url_is_printed_without_query_and_credentials(url: str, shown: str) -> None:
    assert printable_url(url) == shown
    assert printable_url(shown) == shown


def test_the_urls_of_a_text_are_printed_so() -> None:
    text = "cannot open 'https://u:p@h/x?sig=a': see s3://b/y?k=v, not /data/a?b=c"
    assert printable(text) == "cannot open 'https://***@h/x?***': see s3://b/y?*** not /data/a?b=c"
    assert printable("nothing here?a=b") == "nothing here?a=b"
