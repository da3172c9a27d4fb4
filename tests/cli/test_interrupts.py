"""When Ctrl+C counts: where somebody asks, while bytes are waited for, and at the second time."""

from __future__ import annotations

import signal
import threading

import pytest

from msmq_wire.cli.interrupts import Interrupts


def test_an_interrupt_waits_until_somebody_asks_and_the_second_does_not() -> None:
    # Spark has a handler of its own in a process that started it.
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        interrupts.raise_if_any()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.raise_if_any()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_who_waits_for_bytes_is_interrupted_at_once() -> None:
    with Interrupts() as interrupts:
        interrupts.waiting = True
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_process_that_ignores_interrupts_goes_on_to_do_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
            interrupts.raise_if_any()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_python_does_not_know_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched:
        patched.setattr(signal, "getsignal", lambda _: None)
        with Interrupts() as interrupts:
            interrupts.raise_if_any()
    assert signal.getsignal(signal.SIGINT) is before


def test_captures_are_read_in_any_thread() -> None:
    entered = []

    def enter() -> None:
        with Interrupts() as interrupts:
            entered.append(interrupts)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert len(entered) == 1
