"""qmcomm, [MS-MQMP] 3.1.4: how applications use queues through their supporting server."""

from __future__ import annotations

from msmq_wire.rpc.interfaces import qmcomm_objects as objects
from msmq_wire.rpc.interfaces import qmcomm_queues as queues
from msmq_wire.rpc.interfaces.method import interface
from msmq_wire.rpc.interfaces.shared_parameters import PortResponse, StatusResponse
from msmq_wire.spec import SpecRef

__all__ = ["INTERFACE"]

INTERFACE = interface(
    "qmcomm",
    "fdb3a030-065f-11d1-bb9b-00a024ea5525",
    SpecRef("MS-MQMP", "3.1.4"),
    {
        1: (
            "R_QMGetRemoteQueueName",
            "3.1.4.1",
            queues.GetRemoteQueueNameRequest,
            queues.GetRemoteQueueNameResponse,
        ),
        2: ("R_QMOpenRemoteQueue", "3.1.4.2", queues.OpenRemoteQueueRequest, queues.OpenRemoteQueueResponse),
        3: (
            "R_QMCloseRemoteQueueContext",
            "3.1.4.3",
            queues.CloseRemoteQueueContext,
            queues.CloseRemoteQueueContext,
        ),
        4: (
            "R_QMCreateRemoteCursor",
            "3.1.4.4",
            queues.CreateRemoteCursorRequest,
            queues.CreateRemoteCursorResponse,
        ),
        6: ("R_QMCreateObjectInternal", "3.1.4.5", objects.CreateObjectInternalRequest, StatusResponse),
        7: ("R_QMSetObjectSecurityInternal", "3.1.4.6", objects.SetObjectSecurityRequest, StatusResponse),
        8: (
            "R_QMGetObjectSecurityInternal",
            "3.1.4.7",
            objects.GetObjectSecurityRequest,
            objects.GetObjectSecurityResponse,
        ),
        9: ("R_QMDeleteObject", "3.1.4.8", objects.ObjectRequest, StatusResponse),
        10: (
            "R_QMGetObjectProperties",
            "3.1.4.9",
            objects.GetObjectPropertiesRequest,
            objects.GetObjectPropertiesResponse,
        ),
        11: ("R_QMSetObjectProperties", "3.1.4.10", objects.SetObjectPropertiesRequest, StatusResponse),
        12: (
            "R_QMObjectPathToObjectFormat",
            "3.1.4.11",
            objects.ObjectPathToObjectFormatRequest,
            objects.ObjectPathToObjectFormatResponse,
        ),
        14: (
            "R_QMGetTmWhereabouts",
            "3.1.4.12",
            objects.GetTmWhereaboutsRequest,
            objects.GetTmWhereaboutsResponse,
        ),
        15: ("R_QMEnlistTransaction", "3.1.4.13", objects.EnlistTransactionRequest, StatusResponse),
        16: (
            "R_QMEnlistInternalTransaction",
            "3.1.4.14",
            objects.EnlistInternalTransactionRequest,
            objects.TransactionResponse,
        ),
        17: ("R_QMCommitTransaction", "3.1.4.15", objects.TransactionRequest, objects.TransactionResponse),
        18: ("R_QMAbortTransaction", "3.1.4.16", objects.TransactionRequest, objects.TransactionResponse),
        19: (
            "rpc_QMOpenQueueInternal",
            "3.1.4.17",
            queues.OpenQueueInternalRequest,
            queues.OpenQueueInternalResponse,
        ),
        20: ("rpc_ACCloseHandle", "3.1.4.18", queues.QueueHandleRequest, queues.QueueHandleResponse),
        22: ("rpc_ACCloseCursor", "3.1.4.19", queues.CursorRequest, StatusResponse),
        23: ("rpc_ACSetCursorProperties", "3.1.4.20", queues.SetCursorPropertiesRequest, StatusResponse),
        26: (
            "rpc_ACHandleToFormatName",
            "3.1.4.21",
            queues.ACHandleToFormatNameRequest,
            queues.ACHandleToFormatNameResponse,
        ),
        27: ("rpc_ACPurgeQueue", "3.1.4.22", queues.QueueRequest, StatusResponse),
        28: (
            "R_QMQueryQMRegistryInternal",
            "3.1.4.23",
            queues.QueryRegistryRequest,
            queues.QueryRegistryResponse,
        ),
        31: ("R_QMGetRTQMServerPort", "3.1.4.24", queues.GetServerPortRequest, PortResponse),
    },
)
