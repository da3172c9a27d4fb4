# SPDX-License-Identifier: AGPL-3.0-or-later
"""Readers of disk images: where each format keeps the bytes of its disk.

The rule kept here: every size in a header is checked before anything is allocated, unpacked or walked.
"""
