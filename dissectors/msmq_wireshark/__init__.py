# SPDX-License-Identifier: GPL-2.0-or-later
"""MSMQ in Wireshark: the dissector in Lua (`install`), and records from what tshark reads (`bridge`).

Importing it loads neither pyshark nor msmq_wire.
"""
