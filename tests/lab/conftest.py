"""What tests of the lab share: an event loop that ends clean, and a small server of RemoteRead."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.interface_server import ClientAssociation, InterfaceServer, ServerCall
from msmq_wire.rpc.interfaces import remote_read as rr
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters, PortResponse, StatusResponse
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.section_buffer import SectionBuffer
from tests.lab.model.scene import make_manager

Run: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]

REFUSED = 0xC00E0025


class SmallServer(InterfaceServer):
    """Enough of RemoteRead to see what the transport does; each method answers as its request asks.

    R_StartReceive answers with ``dw_max_body_size`` zeros after ``ul_timeout`` milliseconds, or when `wake`
    is called where that is infinite. R_QMEnlistRemoteTransaction answers with the sum of the token's bytes.
    """

    INTERFACE = rr.INTERFACE

    def __init__(self) -> None:
        super().__init__(make_manager(name="lab01", start=0))
        self.served: list[str] = []
        self.gone: list[int] = []
        self.waiting: list[tuple[ServerCall, rr.StartReceiveRequest]] = []

    def r_get_server_port(self, call: ServerCall, request: NoParameters) -> None:
        self.served.append("port")
        call.reply(PortResponse(return_value=2105))

    def r_open_queue(self, call: ServerCall, request: rr.OpenQueueRequest) -> None:
        self.served.append("open")
        if request.dw_access == 0:
            call.throw(REFUSED)
        else:
            call.reply(rr.OpenQueueResponse(pph_context=call.association.handle(self.manager, "queue")))

    def r_close_queue(self, call: ServerCall, request: rr.CloseQueueRequest) -> None:
        self.served.append("close")
        call.association.forget(request.pph_context)
        call.reply(rr.CloseQueueResponse(pph_context=ContextHandle()))

    def r_purge_queue(self, call: ServerCall, request: rr.ContextRequest) -> None:
        self.served.append("purge")
        call.reply(StatusResponse(status=0))

    def r_close_cursor(self, call: ServerCall, request: rr.CloseCursorRequest) -> None:
        call.reply(StatusResponse(status="no number"))  # type: ignore[arg-type]  # a server that errs

    def r_start_receive(self, call: ServerCall, request: rr.StartReceiveRequest) -> None:
        self.served.append("receive")
        if request.ul_timeout == INFINITE:
            self.waiting.append((call, request))
        elif request.ul_timeout:
            self.manager.timers.start(request.ul_timeout, lambda: self._give(call, request))
        else:
            self._give(call, request)

    def r_qm_enlist_remote_transaction(
        self, call: ServerCall, request: rr.QMEnlistRemoteTransactionRequest
    ) -> None:
        self.served.append("enlist")
        call.reply(StatusResponse(status=sum(request.pb_propagation_token)))

    def wake(self) -> None:
        """Answer all that wait."""
        waiting, self.waiting = self.waiting, []
        for call, request in waiting:
            self._give(call, request)

    def rundown(self, association: ClientAssociation) -> None:
        association.handles.clear()
        self.gone.append(association.number)

    @staticmethod
    def _give(call: ServerCall, request: rr.StartReceiveRequest) -> None:
        size = request.dw_max_body_size
        section = SectionBuffer(section_size_alloc=size, section_size=size, data=bytes(size))
        call.reply(
            rr.StartReceiveResponse(
                p_sequence_id=request.dw_request_id,
                pdw_number_of_sections=1,
                pp_packet_sections=(section,),
            )
        )


@pytest.fixture
def small_server() -> SmallServer:
    return SmallServer()


def run_clean(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a loop of its own; nothing may be left of it, and the loop may not complain."""
    complaints: list[dict[str, Any]] = []

    async def bounded() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, reported: complaints.append(reported))
        async with asyncio.timeout(60):
            await coroutine
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(bounded())
    gc.collect()
    assert complaints == []


@pytest.fixture
def run() -> Run:
    return run_clean


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine, with the fixtures that it names."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    run_clean(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
