"""dscomm, [MS-MQDS] 3.1.4: the directory of MSMQ, as its servers answer for it; and what they call back."""

from msmq_wire.rpc.interfaces import dscomm_objects as objects
from msmq_wire.rpc.interfaces import dscomm_sessions as sessions
from msmq_wire.rpc.interfaces.directory_parameters import SecurityResponse, ValuesResponse
from msmq_wire.rpc.interfaces.method import interface, method
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.interfaces.shared_parameters import PortResponse, StatusResponse
from msmq_wire.spec import SpecRef

_READS = "reads {properties} of {object}"
_CHANGES = "changes {properties} of {object}"
_ASKS_SECURITY = "asks who may use {object}"
_SETS_SECURITY = "changes who may use {object}"

INTERFACE = interface(
    "dscomm",
    "77df7a80-f298-11d0-8358-00a024c480a8",
    SpecRef("MS-MQDS", "3.1.4"),
    {
        0: method(
            "S_DSCreateObject",
            "3.1.4.4",
            objects.DSCreateObjectRequest,
            objects.DSCreateObjectResponse,
            Role.CHANGE_DIRECTORY,
            does="creates {object} with {properties}",
        ),
        1: method(
            "S_DSDeleteObject",
            "3.1.4.5",
            objects.DSDeleteObjectRequest,
            StatusResponse,
            does="deletes {object}",
        ),
        2: method(
            "S_DSGetProps",
            "3.1.4.7",
            objects.DSGetPropsRequest,
            ValuesResponse,
            Role.ASK_DIRECTORY,
            does=_READS,
        ),
        3: method(
            "S_DSSetProps",
            "3.1.4.9",
            objects.DSSetPropsRequest,
            StatusResponse,
            Role.CHANGE_DIRECTORY,
            does=_CHANGES,
        ),
        4: method(
            "S_DSGetObjectSecurity",
            "3.1.4.11",
            objects.DSGetObjectSecurityRequest,
            SecurityResponse,
            does=_ASKS_SECURITY,
        ),
        5: method(
            "S_DSSetObjectSecurity",
            "3.1.4.13",
            objects.DSSetObjectSecurityRequest,
            StatusResponse,
            does=_SETS_SECURITY,
        ),
        6: method(
            "S_DSLookupBegin",
            "3.1.4.17",
            sessions.DSLookupBeginRequest,
            sessions.DSLookupBeginResponse,
            Role.BEGIN_LOOKUP,
            does="looks up {properties} of {objects}",
        ),
        7: method(
            "S_DSLookupNext",
            "3.1.4.18",
            sessions.DSLookupNextRequest,
            sessions.DSLookupNextResponse,
            Role.LOOK_UP,
            does="reads on in what was looked up",
        ),
        8: method(
            "S_DSLookupEnd",
            "3.1.4.19",
            sessions.DSLookupEndRequest,
            sessions.DSLookupEndResponse,
            does="ends the lookup",
        ),
        10: method(
            "S_DSDeleteObjectGuid",
            "3.1.4.6",
            objects.DSDeleteObjectGuidRequest,
            StatusResponse,
            does="deletes {object}",
        ),
        11: method(
            "S_DSGetPropsGuid",
            "3.1.4.8",
            objects.DSGetPropsGuidRequest,
            ValuesResponse,
            Role.ASK_DIRECTORY,
            does=_READS,
        ),
        12: method(
            "S_DSSetPropsGuid",
            "3.1.4.10",
            objects.DSSetPropsGuidRequest,
            StatusResponse,
            Role.CHANGE_DIRECTORY,
            does=_CHANGES,
        ),
        13: method(
            "S_DSGetObjectSecurityGuid",
            "3.1.4.12",
            objects.DSGetObjectSecurityGuidRequest,
            SecurityResponse,
            does=_ASKS_SECURITY,
        ),
        14: method(
            "S_DSSetObjectSecurityGuid",
            "3.1.4.14",
            objects.DSSetObjectSecurityGuidRequest,
            StatusResponse,
            does=_SETS_SECURITY,
        ),
        19: method(
            "S_DSQMSetMachineProperties",
            "3.1.4.16",
            objects.DSQMSetMachinePropertiesRequest,
            StatusResponse,
            Role.CHANGE_DIRECTORY,
            does="a queue manager changes {properties} of its own",
        ),
        20: method(
            "S_DSCreateServersCache",
            "3.1.4.20",
            sessions.DSCreateServersCacheRequest,
            sessions.DSCreateServersCacheResponse,
            does="asks which directory servers a site has",
        ),
        21: method(
            "S_DSQMGetObjectSecurity",
            "3.1.4.15",
            objects.DSQMGetObjectSecurityRequest,
            SecurityResponse,
            does="a queue manager asks who may use {object}",
        ),
        22: method(
            "S_DSValidateServer",
            "3.1.4.2",
            sessions.DSValidateServerRequest,
            sessions.DSValidateServerResponse,
            does="has the server prove who it is",
        ),
        23: method(
            "S_DSCloseServerHandle",
            "3.1.4.3",
            sessions.DSCloseServerHandle,
            sessions.DSCloseServerHandleResponse,
            does="ends what the server signs with",
        ),
        27: method(
            "S_DSGetServerPort", "3.1.4.1", sessions.DSGetServerPortRequest, PortResponse, Role.ASK_PORT
        ),
    },
    callbacks={
        0: method(
            "S_DSQMSetMachinePropertiesSignProc",
            "3.2.4.1",
            sessions.ChallengeRequest,
            sessions.ChallengeResponse,
            does="the server has the client sign what it changes",
        ),
        1: method(
            "S_DSQMGetObjectSecurityChallengeResponceProc",
            "3.2.4.2",
            sessions.GetObjectSecurityChallengeRequest,
            sessions.GetObjectSecurityChallengeResponse,
            does="the server has the client prove who it is",
        ),
        2: method(
            "S_InitSecCtx",
            "3.2.4.3",
            sessions.InitSecCtxRequest,
            sessions.InitSecCtxResponse,
            does="the server goes on proving who it is",
        ),
    },
)
