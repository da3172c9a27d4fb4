"""An S3 server on loopback: that of moto, and one in front of it that fails now and then and keeps count."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pyarrow.fs as pafs  # type: ignore[import-untyped]  # it has no stubs
import pytest

__all__ = ["BUCKET", "S3Server", "s3_server"]

BUCKET = "captures"
"""The bucket that is there."""


class S3Server:
    """A running server: where it is, and what it was asked for.

    With ``fail_every`` set, each so many-th request is answered 500 or 503, in turn, and not passed on. A put
    of what ends in ``lose`` is passed on once, and answered 500.
    ``asked`` counts requests by method, ``sent`` the bytes of objects that were sent, ``failed`` what was
    refused. ``ranges`` are the ranges of objects that were asked for, ``signed`` says of each request whether
    it had a signature.
    """

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self.url = ""
        self.fail_every = 0
        self.lose = ""
        self._lock = threading.Lock()
        self._app = DomainDispatcherApplication(create_backend_app)
        self.reset()

    def reset(self) -> None:
        """Count from nothing."""
        with self._lock:
            self.requests = 0
            self.failed = 0
            self.sent = 0
            self.asked: Counter[str] = Counter()
            self.ranges: list[tuple[str, str]] = []
            self.signed: list[bool] = []

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        with self._lock:
            self.requests += 1
            self.asked[method] += 1
            self.signed.append("HTTP_AUTHORIZATION" in environ)
            fails = bool(self.fail_every) and self.requests % self.fail_every == 0
            self.failed += fails
            status = "500 Internal Server Error" if self.failed % 2 else "503 Slow Down"
        if fails:
            code = "InternalError" if status.startswith("500") else "SlowDown"
            text = f"<Error><Code>{code}</Code><Message>try again</Message></Error>".encode()
            # What was sent must be taken, or the next request on this connection begins in it.
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(text)))])
            return [] if method == "HEAD" else [text]
        if method == "PUT" and self.lose and environ["PATH_INFO"].endswith(self.lose):
            self.lose = ""
            answered: list[Any] = []
            list(self._app(environ, lambda *answer: answered.append(answer)))
            assert answered[0][0].startswith("200")
            start("500 Internal Server Error", [("Content-Length", "0")])
            return []
        if method != "GET":
            return cast(Iterable[bytes], self._app(environ, start))
        answer = list(self._app(environ, start))
        with self._lock:
            if "HTTP_RANGE" in environ:
                self.sent += sum(map(len, answer))
                self.ranges.append((environ["PATH_INFO"], environ["HTTP_RANGE"]))
        return answer


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Run a server on a free port of loopback; the environment says how it is reached meanwhile."""
    # `make test` imports this module, too, without them.
    from moto.backends import get_backend
    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    server = S3Server()
    # What moto holds belongs to the process.
    get_backend("s3").reset()
    listening = make_server("127.0.0.1", 0, server, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    thread.start()
    server.url = f"http://127.0.0.1:{listening.server_port}"
    said = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in said.items():
                patch.setenv(name, value)
            make_bucket = pafs.S3FileSystem(
                endpoint_override=server.url.removeprefix("http://"),
                scheme="http",
                allow_bucket_creation=True,
            )
            make_bucket.create_dir(BUCKET)
            server.reset()
            yield server
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
