// SPDX-License-Identifier: MIT
//
// Messages of Microsoft Message Queuing (MSMQ), wherever their bytes lie: captures, storage files, memory.
//
// The strings of the first rule match exactly where msmq_wire looks for packets, so their offsets, as yarascan
// of Volatility prints them, are places to read. What lies in storage files is not documented, and no public one
// was found: that stored packets begin as those on the wire do is expected, not known.

rule msmq_packet
{
    meta:
        description = "BaseHeader of an MSMQ packet: version 16, signature LIOR, PacketSize of 20 bytes to 4 MB"
        reference = "[MS-MQMQ] 2.2.19.1"
    strings:
        // VersionNumber, Reserved, Flags, Signature, and PacketSize: 20 to 255, to 65535, to 0x3FFFFF, 0x400000.
        $small = { 10 ?? ?? ?? 4C 49 4F 52 (14 | 15 | 16 | 17 | 18 | 19 | 1A | 1B | 1C | 1D | 1E | 1F | 2? | 3? | 4? | 5? | 6? | 7? | 8? | 9? | A? | B? | C? | D? | E? | F?) 00 00 00 }
        $middle = { 10 ?? ?? ?? 4C 49 4F 52 ?? (01 | 02 | 03 | 04 | 05 | 06 | 07 | 08 | 09 | 0A | 0B | 0C | 0D | 0E | 0F | 1? | 2? | 3? | 4? | 5? | 6? | 7? | 8? | 9? | A? | B? | C? | D? | E? | F?) 00 00 }
        $large = { 10 ?? ?? ?? 4C 49 4F 52 ?? ?? (01 | 02 | 03 | 04 | 05 | 06 | 07 | 08 | 09 | 0A | 0B | 0C | 0D | 0E | 0F | 1? | 2? | 3?) 00 }
        $largest = { 10 ?? ?? ?? 4C 49 4F 52 00 00 40 00 }
    condition:
        any of them
}

rule msmq_srmp_envelope
{
    meta:
        description = "SOAP envelope of the SOAP Reliable Messaging Protocol, by which MSMQ sends over HTTP"
        reference = "[MC-MQSRM] 2.2.2, 2.2.3"
    strings:
        $soap = "schemas.xmlsoap.org/soap/envelope/"
        $srmp = "schemas.xmlsoap.org/srmp/"
    condition:
        for any i in (1 .. #soap) : ($srmp in (@soap[i] - 4096 .. @soap[i] + 4096))
}
