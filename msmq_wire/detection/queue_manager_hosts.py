"""Where sessions show each queue manager, for rules about what queue managers tell."""

from __future__ import annotations

from collections.abc import Mapping

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.session_places import place_in
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Story
from msmq_wire.wire.types.guid import GUID, NULL_GUID

QueueManagerHosts = Mapping[GUID, Mapping[str, Evidence]]
"""The addresses of queue managers, each with the EstablishConnection that shows it."""


def queue_manager_hosts(story: Story) -> QueueManagerHosts:
    """The addresses at which sessions show each queue manager."""
    found: dict[GUID, dict[str, Evidence]] = {}
    for session in story.sessions:
        ends = (
            (session.establish_request, session.client_queue_manager, session.client),
            (session.establish_response, session.server_queue_manager, session.server),
        )
        for direction, (moment, manager, end) in enumerate(ends):
            if moment is not None and manager is not None and manager != NULL_GUID:
                place = place_in(session, moment, direction)
                found.setdefault(manager, {}).setdefault(host_of(end), place)
    return found
