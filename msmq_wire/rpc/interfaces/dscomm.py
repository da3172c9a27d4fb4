"""dscomm, [MS-MQDS] 3.1.4: the directory of MSMQ, as its servers answer for it; and what they call back."""

from msmq_wire.rpc.interfaces import dscomm_objects as objects
from msmq_wire.rpc.interfaces import dscomm_sessions as sessions
from msmq_wire.rpc.interfaces.directory_parameters import SecurityResponse, ValuesResponse
from msmq_wire.rpc.interfaces.method import interface, method
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.interfaces.shared_parameters import PortResponse, StatusResponse
from msmq_wire.spec import SpecRef

_BY_NAME = {"object_type": "dw_object_type", "object": "pwcs_path_name"}
_BY_IDENTIFIER = {"object_type": "dw_object_type", "object": "p_guid"}
_WITH_PROPERTIES = {"properties": "a_prop", "values": "ap_var"}
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
            gives="p_obj_guid",
            **_BY_NAME,
            **_WITH_PROPERTIES,
        ),
        1: method(
            "S_DSDeleteObject",
            "3.1.4.5",
            objects.DSDeleteObjectRequest,
            StatusResponse,
            does="deletes {object}",
            **_BY_NAME,
        ),
        2: method(
            "S_DSGetProps",
            "3.1.4.7",
            objects.DSGetPropsRequest,
            ValuesResponse,
            Role.ASK_DIRECTORY,
            does=_READS,
            **_BY_NAME,
            **_WITH_PROPERTIES,
        ),
        3: method(
            "S_DSSetProps",
            "3.1.4.9",
            objects.DSSetPropsRequest,
            StatusResponse,
            Role.CHANGE_DIRECTORY,
            does=_CHANGES,
            **_BY_NAME,
            **_WITH_PROPERTIES,
        ),
        4: method(
            "S_DSGetObjectSecurity",
            "3.1.4.11",
            objects.DSGetObjectSecurityRequest,
            SecurityResponse,
            does=_ASKS_SECURITY,
            **_BY_NAME,
        ),
        5: method(
            "S_DSSetObjectSecurity",
            "3.1.4.13",
            objects.DSSetObjectSecurityRequest,
            StatusResponse,
            does=_SETS_SECURITY,
            **_BY_NAME,
        ),
        6: method(
            "S_DSLookupBegin",
            "3.1.4.17",
            sessions.DSLookupBeginRequest,
            sessions.DSLookupBeginResponse,
            Role.BEGIN_LOOKUP,
            does="looks up {properties} of {objects}",
            gives="p_handle",
            properties="p_columns.a_col",
        ),
        7: method(
            "S_DSLookupNext",
            "3.1.4.18",
            sessions.DSLookupNextRequest,
            sessions.DSLookupNextResponse,
            Role.LOOK_UP,
            does="reads on in what was looked up",
            handle="handle",
            values="pb_buffer",
        ),
        8: method(
            "S_DSLookupEnd",
            "3.1.4.19",
            sessions.DSLookupEndRequest,
            sessions.DSLookupEndResponse,
            does="ends the lookup",
            handle="ph_context",
        ),
        10: method(
            "S_DSDeleteObjectGuid",
            "3.1.4.6",
            objects.DSDeleteObjectGuidRequest,
            StatusResponse,
            does="deletes {object}",
            **_BY_IDENTIFIER,
        ),
        11: method(
            "S_DSGetPropsGuid",
            "3.1.4.8",
            objects.DSGetPropsGuidRequest,
            ValuesResponse,
            Role.ASK_DIRECTORY,
            does=_READS,
            **_BY_IDENTIFIER,
            **_WITH_PROPERTIES,
        ),
        12: method(
            "S_DSSetPropsGuid",
            "3.1.4.10",
            objects.DSSetPropsGuidRequest,
            StatusResponse,
            Role.CHANGE_DIRECTORY,
            does=_CHANGES,
            **_BY_IDENTIFIER,
            **_WITH_PROPERTIES,
        ),
        13: method(
            "S_DSGetObjectSecurityGuid",
            "3.1.4.12",
            objects.DSGetObjectSecurityGuidRequest,
            SecurityResponse,
            does=_ASKS_SECURITY,
            **_BY_IDENTIFIER,
        ),
        14: method(
            "S_DSSetObjectSecurityGuid",
            "3.1.4.14",
            objects.DSSetObjectSecurityGuidRequest,
            StatusResponse,
            does=_SETS_SECURITY,
            **_BY_IDENTIFIER,
        ),
        19: method(
            "S_DSQMSetMachineProperties",
            "3.1.4.16",
            objects.DSQMSetMachinePropertiesRequest,
            StatusResponse,
            Role.CHANGE_DIRECTORY,
            does="a queue manager changes {properties} of its own",
            object="pwcs_path_name",
            **_WITH_PROPERTIES,
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
            **_BY_IDENTIFIER,
        ),
        22: method(
            "S_DSValidateServer",
            "3.1.4.2",
            sessions.DSValidateServerRequest,
            sessions.DSValidateServerResponse,
            does="has the server prove who it is",
            gives="pph_server_auth",
        ),
        23: method(
            "S_DSCloseServerHandle",
            "3.1.4.3",
            sessions.DSCloseServerHandle,
            sessions.DSCloseServerHandleResponse,
            does="ends what the server signs with",
            handle="pph_server_auth",
        ),
        27: method(
            "S_DSGetServerPort",
            "3.1.4.1",
            sessions.DSGetServerPortRequest,
            PortResponse,
            Role.ASK_PORT,
            port="f_ip",
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
