"""Event logs of Windows, as files: .evtx, and XML as Event Viewer and ``wevtutil`` export it."""
