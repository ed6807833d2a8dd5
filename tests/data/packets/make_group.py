#!/usr/bin/env python3
"""Writes group.txt: the golden packets of groups.

Written from section 18 of SPEC.md and from nothing else, with Python's own struct, hmac and zlib, so
that the C++ codecs are compared with a second implementation and not with themselves.
Run it in its folder after a change of the tables: ./make_group.py > group.txt
"""

import hashlib
import hmac
import struct
import zlib

SECRET = b"causeway golden group"
EPOCH, NONCE, HEARD, SEQUENCE = 0x3132333435363738, 0x1112131415161718, 0x2122232425262728, 7
SENDER, RECEIVER = 3, 5
MEMBERS, GROUP_KEY, OWN_KEY = 8, 0x6A0B5EED, 0x0E115EED
STEP, PAYLOAD, PART, MESSAGE = 0x000451F7, 224, 501, 100
QKEY, MULTICAST, SENDER_QP, RECEIVER_QP = 0x1CA05E0A, 0xFFFFFF, 0x000103, 0x000105


# ---- control ----

def pair_key(epoch, one, other):
    name = b"causeway group pair" + struct.pack(">QHH", epoch, min(one, other), max(one, other))
    return hmac.new(SECRET, name, hashlib.sha256).digest()


def record(kind, body):
    return struct.pack(">BBH", kind, 0, len(body)) + body + bytes(-len(body) % 4)


def envelope(records, epoch=EPOCH, receiver_nonce=None, sender=SENDER, receiver=RECEIVER):
    length = 32 + len(records) + 16
    receiver_nonce = epoch if receiver_nonce is None else receiver_nonce
    header = struct.pack(">HBBHHQQQ", 0xCA05, 2, 0, length, sender, NONCE, receiver_nonce, SEQUENCE)
    key = pair_key(epoch, sender, receiver)
    return header + records + hmac.new(key, header + records, hashlib.sha256).digest()[:16]


def runs(step, source, message, *pairs):
    rows = b"".join(struct.pack(">II", *pair) for pair in pairs)
    return struct.pack(">IHHI", step, source, 0, message) + rows


JOIN = struct.pack(">QIIQHHIII", HEARD, 0x03115EED, SENDER_QP, 100_000_000_000, 4096, 2, 0xC0DEF00D,
                   0x0F4240F0, 0x0F424005)
READY = struct.pack(">IBBHQI", STEP, 1, 2, 6, 0x0000000300000001, 5)
DONE = struct.pack(">IHHII", STEP, 4, 60, 5, 12)

CONTROL = [
    ("group_join", "who I am, to a member whose nonce is known", envelope(record(20, JOIN))),
    ("group_epoch", "rank 0 names the epoch, to a nonce of rank 5's and under the key of no epoch",
     envelope(record(21, struct.pack(">QIIHH", EPOCH, GROUP_KEY, 400_000_000, 4096, 8)), epoch=0,
              receiver_nonce=HEARD, sender=0)),
    ("group_ready", "five are ready for a broadcast of bf16 from rank 6", envelope(record(22, READY))),
    ("group_go", "rank 0 is the first that sends", envelope(record(23, struct.pack(">IHH", STEP, 0, 0)))),
    ("group_turn", "it is the turn of rank 4", envelope(record(24, struct.pack(">IHH", STEP, 4, 0)))),
    ("group_all_done", "all have all; rank 7 fetched most; four fifths of R are used",
     envelope(record(25, struct.pack(">IHH", STEP, 7, 800)))),
    ("group_done", "five have all; they fetched twelve slots, rank 4 most of them, 60 of a thousand",
     envelope(record(26, DONE))),
    ("group_fetch", "one slot, and the last sixteen that there can be",
     envelope(record(27, runs(STEP, 0, 0, (9, 1), (0xFFFFF0, 16))))),
    ("group_miss", "of message 2 of rank 3 three slots are missing here, too",
     envelope(record(28, runs(STEP, 3, 2, (0, 3))))),
    ("group_status", "2,000 slots are in place; held for 40 us",
     envelope(record(29, struct.pack(">IIIII", STEP, 0, 2000, 0xFFFFFFF0, 40)))),
    ("group_fail", "a member is silent", envelope(record(30, struct.pack(">IHH", STEP, 5, 0)
                                                         + b"rank 5 silent for 3.0 s"))),
    ("group_offer", "message 7 of 1 MiB, of which 100 slots have left, and the answers to 3 FETCHes",
     envelope(record(31, struct.pack(">IIQIHxx", STEP, 7, 1 << 20, 100, 3)))),
    ("group_cancel", "message 7 comes no more: its deadline is over",
     envelope(record(32, struct.pack(">IIBxxx", STEP, 7, 2)))),
    ("group_refuse", "a message for the pool is not wanted any more",
     envelope(record(33, struct.pack(">IIBxxx", STEP, 0x80000001, 1)))),
    ("together", "READY of the next step rides on DONE of this one",
     envelope(record(26, DONE) + record(22, READY[:3] + b"\xf8" + READY[4:]))),
]


# ---- data ----

def icrc(ip, udp, transport):
    ip, udp, transport = bytearray(ip), bytearray(udp), bytearray(transport)
    if ip[0] >> 4 == 4:
        for at in (1, 8, 10, 11):
            ip[at] = 0xFF
    else:
        ip[0] |= 0x0F
        for at in (1, 2, 3, 7):
            ip[at] = 0xFF
    udp[6] = udp[7] = transport[4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + transport))


def checksum(header):
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def outer(version, to_all, udp_bytes):
    source_mac = bytes.fromhex("025400000001")
    if version == 4:
        target = bytes([239, 1, 2, 3]) if to_all else bytes([192, 0, 2, 5])
        mac = b"\x01\x00\x5e" + target[1:] if to_all else bytes.fromhex("025400000005")
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + udp_bytes, 0, 0x4000, 4, 17, 0)
        ip += bytes([192, 0, 2, 3]) + target
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        return mac + source_mac + b"\x08\x00", ip
    target = bytes.fromhex("ff0e" + "00" * 13 + "07" if to_all else "fd" + "00" * 14 + "05")
    mac = b"\x33\x33" + target[12:] if to_all else bytes.fromhex("025400000005")
    ip = struct.pack(">IHBB", 0x60000000, udp_bytes, 17, 4) + bytes.fromhex("fd" + "00" * 14 + "03")
    return mac + source_mac + b"\x86\xdd", ip + target


def frame(payload, immediate, to_all, version=4):
    pad = -len(payload) % 4
    transport = struct.pack(">BBHII", 0x65, 0x40 | pad << 4, 0xFFFF,
                            MULTICAST if to_all else RECEIVER_QP, 0x00ABCD)
    transport += struct.pack(">III", QKEY, SENDER_QP, immediate) + payload + bytes(pad)
    link, ip = outer(version, to_all, 8 + len(transport) + 4)
    udp = struct.pack(">HHHH", 0xC003, 4791, 8 + len(transport) + 4, 0)
    return link + ip + udp + transport + icrc(ip, udp, transport)


def content(count):
    return bytes((i * 7 + 1) & 0xFF for i in range(count))


def data(slot, count, version=1, kind=1, flags=0, source=SENDER, key=GROUP_KEY, step=STEP, message=0,
         slots=3, source_slots=3, clock=0x89ABCDEF, path=2, resends=0, last=0, mark=None, cut=None,
         ip=4):
    header = struct.pack(">BBHIIIIIIBBH", version << 4 | kind, flags, source, key, step, message, slots,
                         source_slots, clock, path, resends, last)
    mark = step & 0xFF if mark is None else mark
    return frame((header + content(count))[:cut], mark << 24 | slot, kind == 1, version=ip)


ALONE = {"kind": 2, "key": OWN_KEY}
LAST = 3 * SENDER + 2

DATA = [
    ("data_multicast", "the first slot of rank 3", "multicast slot=9 of 3 bytes=224",
     data(9, 224)),
    ("data_multicast_last", "the last one of rank 3, with three bytes of pad and both flags",
     "multicast slot=11 of 3 last all bytes=53", data(LAST, 53, flags=3)),
    ("data_multicast_ipv6", "the same by IPv6", "multicast slot=11 of 3 last bytes=53",
     data(LAST, 53, flags=1, ip=6)),
    ("data_multicast_again", "what another member made, sent to all once more",
     "multicast slot=0 of 3 resends=255 bytes=224", data(0, 224, resends=255)),
    ("data_unicast", "message 2 of rank 3, which has one slot",
     "unicast message=2 slot=0 of 1 last bytes=100",
     data(0, 100, flags=1, message=2, slots=1, source_slots=4, **ALONE)),
    ("data_unicast_status", "of the same, and its source waits for STATUS",
     "unicast message=2 slot=0 of 1 last status bytes=100",
     data(0, 100, flags=5, message=2, slots=1, last=100, source_slots=4, **ALONE)),
    ("data_unicast_common", "of what all come to have, down a tree", "unicast slot=23 of 3 last bytes=53",
     data(23, 53, flags=1, source_slots=0, **ALONE)),
    ("data_fetched", "the answer to a FETCH, of what another member made",
     "fetched slot=22 of 3 resends=1 bytes=224", data(22, 224, kind=3, key=OWN_KEY, resends=1)),
    ("data_reserved", "flags of no meaning yet are not looked at, nor bytes of none here",
     "multicast slot=9 of 3 bytes=224", data(9, 224, flags=0xF8, last=0xFFFF)),
    ("data_short", "one byte less than a header", "group_short", data(9, 0, cut=31)),
    ("data_version", "of version 2", "group_version", data(9, 224, version=2)),
    ("data_kind_0", "there is no such kind", "group_kind", data(9, 224, kind=0)),
    ("data_kind_4", "there is no such kind", "group_kind", data(9, 224, kind=4)),
    ("data_kind_message", "one message is not for all", "group_kind", data(9, 224, message=2)),
    ("data_key", "multicast, with the receiver's key", "group_key", data(9, 224, key=OWN_KEY)),
    ("data_key_alone", "to one member, with the group's key", "group_key", data(9, 224, kind=2)),
    ("data_own", "the receiver's own", "group_own", data(15, 224, source=RECEIVER)),
    ("data_source", "rank 8 of 8", "group_source", data(9, 224, source=MEMBERS)),
    ("data_step", "the immediate is of the next step", "group_step", data(9, 224, mark=0xF8)),
    ("data_closed", "256 steps later: the same immediate", "group_closed", data(9, 224, step=STEP + 256)),
    ("data_closed_message", "a message that nobody waits for", "group_closed",
     data(0, 100, flags=1, message=3, slots=1, **ALONE)),
    ("data_slot", "behind the last slot of the last source", "group_slot", data(24, 224)),
    ("data_slot_alone", "the same, to one member", "group_slot", data(24, 224, **ALONE)),
    ("data_slot_highest", "the highest number there can be", "group_slot", data(0xFFFFFF, 224, **ALONE)),
    ("data_slot_message", "slot 1 of 1", "group_slot",
     data(1, 100, flags=1, message=2, slots=1, source_slots=4, **ALONE)),
    ("data_slot_not_last", "not a last slot, and says so", "group_slot", data(9, 224, flags=1)),
    ("data_slot_other", "sent for the first time, by another than who made it", "group_slot",
     data(8, 53, flags=1)),
    ("data_slot_last", "a last slot that does not say so", "group_slot", data(LAST, 53)),
    ("data_slot_count", "its sender has posted four slots", "group_slot", data(9, 224, slots=4)),
    ("data_slot_sum", "less in the step than in the message", "group_slot", data(9, 224, source_slots=2)),
    ("data_length_less", "a byte too few", "group_length", data(9, 223)),
    ("data_length_more", "a byte too many", "group_length", data(LAST, 54, flags=1)),
]


def lines_of(packet):
    for at in range(0, len(packet), 32):
        line = packet[at:at + 32].hex()
        yield " ".join(line[i:i + 8] for i in range(0, len(line), 8))


print(f"""# Golden packets of groups. Written by make_group.py.
#
# The format is that of control.txt and golden.txt. Envelopes are UD payloads, from rank {SENDER} (0) to
# rank {RECEIVER}, of epoch {EPOCH:x} (0); the group's secret is the {len(SECRET)} bytes
# "{SECRET.decode()}". Frames are for rank {RECEIVER} of {MEMBERS}: group's key {GROUP_KEY:08x}, its own
# {OWN_KEY:08x}. It has posted an Allgather of {PART} bytes in step {STEP:08x}, slots of {PAYLOAD} bytes,
# and waits for message 2 of rank {SENDER} in it, of {MESSAGE} bytes.""")
for name, sentence, packet in CONTROL:
    print(f"\n{name}: {sentence}")
    for line in lines_of(packet):
        print(f"  {line}")
for name, sentence, expect, packet in DATA:
    print(f"\n{name}: {sentence}\n  start ethernet\n  expect {expect}")
    for line in lines_of(packet):
        print(f"  {line}")
