"""Hold a conversation on loopback and write it down.

``python tests/oracles/rpc_loopback.py --scenario ntlm_privacy --out FILE.pcap --facts FILE.json``

impacket or scapy is the client, scapy's security providers stand behind the server, a relay in between takes
the octets down. The facts are the plain stubs, as they were before sealing. Ends within 60 seconds, with an
exit status other than 0 when the conversation went wrong.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True
logging.disable(logging.WARNING)

from tests.oracles.rpc_client import Client  # noqa: E402  (needs the path above)
from tests.oracles.rpc_conversation import Call, Fault, Scenario  # noqa: E402
from tests.oracles.rpc_impacket_calls import INTERFACES  # noqa: E402
from tests.oracles.rpc_relay import CLIENT, SERVER, Relay  # noqa: E402
from tests.oracles.rpc_scapy_client import ScapyClient  # noqa: E402
from tests.oracles.rpc_scenarios import SCENARIOS  # noqa: E402
from tests.oracles.rpc_server import Server  # noqa: E402

_LIMIT = 60


def _call_facts(number: int, call: Call) -> dict[str, Any]:
    faulted = isinstance(call.response, Fault)
    return {
        "connection": number,
        "interface": call.interface,
        "uuid": INTERFACES[call.interface],
        "opnum": call.opnum,
        "method": call.method,
        "syntax": call.syntax,
        "request_hex": call.request.hex(),
        "response_hex": call.response.hex() if isinstance(call.response, bytes) else None,
        "fault": faulted,
        "status": call.status,
    }


def _facts(name: str, scenario: Scenario, ports: list[int]) -> dict[str, Any]:
    connections = []
    for number, connection in enumerate(scenario.connections):
        secured = connection.authentication
        connections.append(
            {
                "client": f"{CLIENT}:{ports[number]}",
                "server": f"{SERVER}:{connection.port}",
                "authentication": None if secured is None else {"type": secured.type, "level": secured.level},
            }
        )
    return {
        "scenario": name,
        "notes": scenario.notes,
        "secrets": scenario.secrets,
        "connections": connections,
        "calls": [_call_facts(number, call) for number, call in scenario.calls()],
    }


def hold(name: str) -> tuple[bytes, dict[str, Any]]:
    """The capture and the facts of a scenario. Raises ValueError when the two sides did not agree."""
    scenario = SCENARIOS[name]()
    server, relay = Server(), Relay()
    try:
        for number, connection in enumerate(scenario.connections):
            calls = [call for index, call in scenario.calls() if index == number]
            serving = server.expect(calls, connection.authentication)
            passing = relay.expect(server.port, connection.port)
            client = ScapyClient if connection.by_scapy else Client
            failure = None
            try:
                client(connection, relay.port).run()
            except ValueError as error:
                failure = error
            serving.join(30)
            passing.join(30)
            if server.errors or failure:
                raise ValueError(f"client: {failure}; server: {server.errors}")
    finally:
        server.close()
        relay.close()
    return relay.capture(), _facts(name, scenario, relay.client_ports())


def main() -> int:
    """Run one scenario and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", required=True, choices=sorted(SCENARIOS))
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--facts", required=True, type=Path)
    options = parser.parse_args()
    faulthandler.dump_traceback_later(_LIMIT, exit=True)
    try:
        capture, facts = hold(options.scenario)
    except (ValueError, OSError) as error:
        print(f"{options.scenario}: {error}", file=sys.stderr)
        return 1
    options.out.write_bytes(capture)
    options.facts.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
