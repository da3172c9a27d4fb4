"""qmcomm, [MS-MQMP] 3.1.4: how applications use queues through their supporting server."""

from __future__ import annotations

from msmq_wire.rpc.interfaces import qmcomm_objects as objects
from msmq_wire.rpc.interfaces import qmcomm_queues as queues
from msmq_wire.rpc.interfaces.method import interface, method
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.interfaces.shared_parameters import PortResponse, StatusResponse
from msmq_wire.spec import SpecRef

INTERFACE = interface(
    "qmcomm",
    "fdb3a030-065f-11d1-bb9b-00a024ea5525",
    SpecRef("MS-MQMP", "3.1.4"),
    {
        1: method(
            "R_QMGetRemoteQueueName",
            "3.1.4.1",
            queues.GetRemoteQueueNameRequest,
            queues.GetRemoteQueueNameResponse,
            Role.ASK_OTHER_NAME,
        ),
        2: method(
            "R_QMOpenRemoteQueue",
            "3.1.4.2",
            queues.OpenRemoteQueueRequest,
            queues.OpenRemoteQueueResponse,
            Role.OPEN_FOR_ANOTHER,
        ),
        3: method(
            "R_QMCloseRemoteQueueContext",
            "3.1.4.3",
            queues.CloseRemoteQueueContext,
            queues.CloseRemoteQueueContext,
            Role.CLOSE_FOR_ANOTHER,
        ),
        4: method(
            "R_QMCreateRemoteCursor",
            "3.1.4.4",
            queues.CreateRemoteCursorRequest,
            queues.CreateRemoteCursorResponse,
            Role.CREATE_CURSOR_FOR_ANOTHER,
        ),
        6: method(
            "R_QMCreateObjectInternal",
            "3.1.4.5",
            objects.CreateObjectInternalRequest,
            StatusResponse,
            Role.CREATE_QUEUE,
        ),
        7: method(
            "R_QMSetObjectSecurityInternal",
            "3.1.4.6",
            objects.SetObjectSecurityRequest,
            StatusResponse,
            Role.SET_SECURITY,
        ),
        8: method(
            "R_QMGetObjectSecurityInternal",
            "3.1.4.7",
            objects.GetObjectSecurityRequest,
            objects.GetObjectSecurityResponse,
            Role.GET_SECURITY,
        ),
        9: method("R_QMDeleteObject", "3.1.4.8", objects.ObjectRequest, StatusResponse, Role.DELETE_QUEUE),
        10: method(
            "R_QMGetObjectProperties",
            "3.1.4.9",
            objects.GetObjectPropertiesRequest,
            objects.GetObjectPropertiesResponse,
            Role.GET_PROPERTIES,
        ),
        11: method(
            "R_QMSetObjectProperties",
            "3.1.4.10",
            objects.SetObjectPropertiesRequest,
            StatusResponse,
            Role.SET_PROPERTIES,
        ),
        12: method(
            "R_QMObjectPathToObjectFormat",
            "3.1.4.11",
            objects.ObjectPathToObjectFormatRequest,
            objects.ObjectPathToObjectFormatResponse,
            Role.ASK_FORMAT_NAME,
        ),
        14: method(
            "R_QMGetTmWhereabouts",
            "3.1.4.12",
            objects.GetTmWhereaboutsRequest,
            objects.GetTmWhereaboutsResponse,
            Role.ASK_COORDINATOR,
        ),
        15: method(
            "R_QMEnlistTransaction", "3.1.4.13", objects.EnlistTransactionRequest, StatusResponse, Role.ENLIST
        ),
        16: method(
            "R_QMEnlistInternalTransaction",
            "3.1.4.14",
            objects.EnlistInternalTransactionRequest,
            objects.TransactionResponse,
            Role.BEGIN,
        ),
        17: method(
            "R_QMCommitTransaction",
            "3.1.4.15",
            objects.TransactionRequest,
            objects.TransactionResponse,
            Role.COMMIT,
        ),
        18: method(
            "R_QMAbortTransaction",
            "3.1.4.16",
            objects.TransactionRequest,
            objects.TransactionResponse,
            Role.ABORT,
        ),
        19: method(
            "rpc_QMOpenQueueInternal",
            "3.1.4.17",
            queues.OpenQueueInternalRequest,
            queues.OpenQueueInternalResponse,
            Role.OPEN,
        ),
        20: method(
            "rpc_ACCloseHandle", "3.1.4.18", queues.QueueHandleRequest, queues.QueueHandleResponse, Role.CLOSE
        ),
        22: method("rpc_ACCloseCursor", "3.1.4.19", queues.CursorRequest, StatusResponse, Role.CLOSE_CURSOR),
        23: method(
            "rpc_ACSetCursorProperties",
            "3.1.4.20",
            queues.SetCursorPropertiesRequest,
            StatusResponse,
            Role.TIE_CURSOR,
        ),
        26: method(
            "rpc_ACHandleToFormatName",
            "3.1.4.21",
            queues.ACHandleToFormatNameRequest,
            queues.ACHandleToFormatNameResponse,
            Role.ASK_OPEN_NAME,
        ),
        27: method("rpc_ACPurgeQueue", "3.1.4.22", queues.QueueRequest, StatusResponse, Role.PURGE),
        28: method(
            "R_QMQueryQMRegistryInternal",
            "3.1.4.23",
            queues.QueryRegistryRequest,
            queues.QueryRegistryResponse,
            Role.ASK_SETTING,
        ),
        31: method(
            "R_QMGetRTQMServerPort", "3.1.4.24", queues.GetServerPortRequest, PortResponse, Role.ASK_PORT
        ),
    },
)
