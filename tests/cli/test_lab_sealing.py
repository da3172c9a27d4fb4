"""``lab send --sign --seal`` and ``lab serve --rsa-key``: with key pairs that OpenSSL makes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.lab.lab_process import LabProcess
from tests.needs import need

Run = Callable[..., Outcome]
ORDERS, ORDERS_TX = "private$\\orders", "private$\\orders_tx"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("openssl")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("lab", "me"):
        subject = ("-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt")
        command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject)
        subprocess.run(command, check=True, capture_output=True)
    parts = [(folder / f"me.{end}").read_bytes() for end in ("key", "crt")]
    (folder / "me.pem").write_bytes(b"".join(parts))
    pfx = ("-in", folder / "me.pem", "-out", folder / "me.pfx", "-passout", "pass:Hush")
    subprocess.run(("openssl", "pkcs12", "-export", *pfx), check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_a_lab_with_a_key_keeps_what_is_signed_and_sealed_for_it(
    run: Run, keys: Path, tmp_path: Path
) -> None:
    capture = tmp_path / "lab.pcap"
    sent = ("--body", "Order 4711", "--sign", keys / "me.pem", "--seal", keys / "lab.crt")
    with LabProcess("--rsa-key", str(keys / "lab.key"), "--capture", str(capture)) as lab:
        binary, rpc = (f"127.0.0.1:{lab.ports[service]}" for service in ("binary", "rpc"))
        assert run("lab", "send", binary, ORDERS, *sent, "--count", 2).status == 0
        locked = ("--sign", keys / "me.pfx", "--rsa-key-password", "Hush", "--body", "signed")
        assert run("lab", "send", binary, ORDERS, *locked).status == 0
        strange = ("--seal", keys / "me.crt", "--body", "for somebody else")
        assert run("lab", "send", binary, ORDERS, *strange).status == 0
        refused = run("lab", "send", binary, ORDERS_TX, *strange, "--delivery", "transactional")
        seen = run("lab", "peek", rpc, ORDERS)
    assert [line.split()[-1] for line in seen.out.splitlines()] == ["4711", "4711", "signed"]
    assert (refused.status, "1 refused" in refused.out) == (1, True)
    asked = ("--columns", "body_text,opened_with,signature,signed_by", "--filter", "how == sent")
    reported = run("messages", capture, *asked, "--rsa-key", keys / "lab.key", "--format", "jsonl", "-q")
    rows = [json.loads(line) for line in reported.out.splitlines()]
    order = {
        "body_text": "Order 4711",
        "opened_with": "AES-256 in CBC",
        "signature": "verified",
        "signed_by": "CN=me",
    }
    signed = {"body_text": "signed", "opened_with": None, "signature": "verified", "signed_by": "CN=me"}
    closed = dict.fromkeys(order)
    assert rows == [order, order, signed, closed, closed]
    assert json.loads(run("replay", capture, "--format", "jsonl").out or "null") is None


@pytest.mark.slow
def test_a_lab_without_a_key_refuses_what_is_sealed(run: Run, keys: Path) -> None:
    sent = ("--body", "x", "--seal", keys / "lab.crt", "--delivery", "transactional")
    with LabProcess() as lab:
        refused = run("lab", "send", f"127.0.0.1:{lab.ports['binary']}", ORDERS_TX, *sent)
    assert (refused.status, "1 refused" in refused.out) == (1, True)


@pytest.mark.slow
def test_what_cannot_sign_or_seal_is_one_line_that_repeats_nothing(
    run: Run, keys: Path, tmp_path: Path
) -> None:
    hush = tmp_path / "Hush"
    hush.write_bytes(b"Hush")
    for arguments, status, said in (
        (("--sign", keys / "me.key"), 2, "no certificate of the private key is beside it"),
        (("--sign", keys / "me.pfx"), 2, "--sign"),
        (("--sign", keys / "me.pfx", "--rsa-key-password", "Hush-not"), 2, "another password is its own"),
        (("--sign", hush), 2, "this is no private key"),
        (("--sign", tmp_path / "Hush-gone"), 1, "--sign: the file cannot be read"),
        (("--seal", keys / "me.key"), 2, "no certificate and no public RSA key"),
        (("--seal", hush), 2, "no certificate and no public RSA key"),
        (("--rsa-key-password", "Hush"), 2, "it opens the file of --sign"),
        (("--http", "--seal", keys / "lab.crt"), 2, "SRMP has its own"),
    ):
        outcome = run("lab", "send", ":1", ORDERS, *arguments)
        assert (outcome.status, outcome.out, outcome.err.count("\n")) == (status, "", 1), arguments
        assert said in outcome.err
        assert "Hush" not in outcome.err
