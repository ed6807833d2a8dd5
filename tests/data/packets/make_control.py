#!/usr/bin/env python3
"""Writes control.txt: the golden control packets.

Written from the tables of SPEC.md and from nothing else, with Python's own struct and hmac, so that
the C++ codecs are compared with a second implementation and not with themselves.
Run it in its folder after a change of the tables: ./make_control.py > control.txt
"""

import hashlib
import hmac
import struct

KEY = b"causeway golden key"
SENDER, RECEIVER, SEQUENCE = 0x1112131415161718, 0x2122232425262728, 7


def record(kind, body, flags=0):
    return struct.pack(">BBH", kind, flags, len(body)) + body + bytes(-len(body) % 4)


def envelope(records, receiver=RECEIVER, sequence=SEQUENCE, key=0, link=0):
    length = 32 + len(records) + 16
    header = struct.pack(">HBBHHQQQ", 0xCA05, 2, key, length, link, SENDER, receiver, sequence)
    return header + records + hmac.new(KEY, header + records, hashlib.sha256).digest()[:16]


def hello(state, received):
    return record(1, struct.pack(">IIHHBBBBBBHBBHI", 2, 0x00CA05, 1024, 1024, 10, 18, 4, 2, 4, 2, 3,
                                 state, 1, 2, received))


def description(items, part=0, parts=1):
    return record(3, struct.pack(">HHHH", part, parts, len(items), 0) + items)


HELLO_TRYING = hello(0, 0)
HELLO_PROVEN = hello(1, 0b11)
CLEAR_TO_SEND = record(4, struct.pack(">HHIIIQ", 3, 1, 0xFFFFFFFE, 6, 2, 0x0000000100000200)
                       + struct.pack(">IIQIQ", 0xFFFFFFFE, 0x8001F00D, 0x00007F0012340000, 0, 0)
                       + struct.pack(">IIQIQ", 0xFFFFFFFF, 0x8001F00E, 0x00007F0012380000,
                                     0x8001F00F, 0x00007F0012400000))
NOTE = record(10, struct.pack(">HHHH", 3, 1, 1, 0) + bytes.fromhex("0102030405"))
ECHO = record(11, struct.pack(">HHQQ", 1, 2, 0x0123456789ABCDEF, 12500))

PAIR_KEY = record(1, b"message_bytes\0" + b"1 MiB")
QP = record(2, struct.pack(">HBBB3xIIQQQQ", 3, 2, 2, 1, 0x5EEDDA7A, 0x5EED4E9A, 0x1000000000,
                           0x2000000000, 0x10000000, 0x4000000)
            + struct.pack(">IIII", 0x001000, 0x001001, 0x001002, 0x001003))
QP_PATHS = record(2, struct.pack(">HBBB3xIIQQQQ", 3, 1, 1, 2, 1, 2, 3, 4, 5, 6)
                  + struct.pack(">II", 0x001000, 0x001001))
SITE = record(3, b"zurich")
PEER = record(5, b"geneva")
POLICY = record(4, struct.pack(">H", 3) + b"erasure\0" + b"k=32 m=4")

GOLDEN = [
    ("hello", "the first packet of a life: no epoch yet, so the receiver nonce is zero",
     envelope(HELLO_TRYING, receiver=0, sequence=1)),
    ("hello_proven", "a hello of an epoch in force that has both parts of the description",
     envelope(HELLO_PROVEN)),
    ("pad", "twelve bytes of nothing", envelope(record(2, bytes(12)))),
    ("description", "the second and last part, eight bytes long, of a description",
     envelope(record(3, struct.pack(">HHHH", 1, 2, 16, 0) + bytes.fromhex("030000046265726e")))),
    ("clear_to_send", "credit across the wrap of message sequences, with two placements",
     envelope(CLEAR_TO_SEND)),
    ("probe", "may I open message 6?", envelope(record(5, struct.pack(">HHI", 3, 0, 6)))),
    ("opened", "a message of unknown length, blocks of 32 chunks of 2 slots, 8 repair slots each",
     envelope(record(6, struct.pack(">HHIIIHHBBBB", 3, 1, 5, 0x30000, 0xFFFFFFFF, 2, 8, 32, 0, 0, 0)))),
    ("block_closed", "a full block, and one that its age closed with 5 slots in it",
     envelope(record(7, struct.pack(">HHI", 3, 0, 5) + struct.pack(">IIIHBBB3x", 0, 0, 64, 2, 32, 4, 0)
                     + struct.pack(">IIIHBBB3x", 1, 64, 5, 1, 5, 2, 1)))),
    ("closed", "69 slots with 120 frames, and an immediate of the application",
     envelope(record(8, struct.pack(">HHIIIQI", 3, 1, 5, 69, 120, 70656, 0xFEEDBEEF)))),
    ("abandoned", "everything from slot 64 on, for it is older than its hold time",
     envelope(record(9, struct.pack(">HHIII", 3, 1, 5, 64, 0xFFFFFFFF)))),
    ("note", "five bytes from the policy of the sink, so three bytes of pad", envelope(NOTE)),
    ("echo", "a reply on path 2 that was held for 12.5 us", envelope(ECHO)),
    ("path_report", "a million packets and three bursts of loss on path 2",
     envelope(record(12, struct.pack(">HHQQQQQII", 2, 4, 1000000, 37, 12, 1, 3, 9, 0)))),
    ("swap_prepare", "get a policy ready for the data that the receiver of this record sends",
     envelope(record(13, struct.pack(">HHI", 3, 1, 0x80000029) + b"hybrid/1\0" + b"k=32 m=4"))),
    ("swap_ready", "the answer that it cannot be had",
     envelope(record(14, struct.pack(">HHI", 3, 1, 41) + b"no plugin selective_repeat"))),
    ("swap_boundary", "messages from 4096 on belong to policy epoch 2",
     envelope(record(15, struct.pack(">HHII", 3, 2, 41, 4096)))),
    ("swap_acknowledge", "the sink takes messages from 4096 on for those of epoch 2",
     envelope(record(16, struct.pack(">HHII", 3, 2, 41, 4096)))),
    ("swap_cancel", "the swap is off, and why",
     envelope(record(17, struct.pack(">HHI", 3, 0, 41) + b"deadline"))),
    ("outcome", "a million frames out and 37 given up; of those that waited most by the fourth step",
     envelope(record(18, struct.pack(">HHQQQQQ", 3, 2, 1000000, 37, 2, 1200, 340)
                     + struct.pack(">IIII", 0, 0, 7, 260), flags=0x80))),
    ("draining", "the third time that something changed: send by others, please",
     envelope(record(19, struct.pack(">IB3x", 3, 1), flags=0x80))),
    ("item_pair_key", "a description of one item: a key of [pair] with its value",
     envelope(description(PAIR_KEY))),
    ("item_qp", "a description of one item: two generations of two channels", envelope(description(QP))),
    ("item_site", "a description of one item: the name of the site", envelope(description(SITE))),
    ("item_peer", "a description of one item: what the other site is taken for", envelope(description(PEER))),
    ("item_policy", "a description of one item: a policy with its parameters",
     envelope(description(POLICY))),
    ("item_qp_paths", "a description of one item: a QP whose numbers tell two paths apart",
     envelope(description(QP_PATHS))),
    ("empty", "no record at all: a sign of life", envelope(b"")),
    ("second_link", "of link 1, with key 5", envelope(ECHO, key=5, link=1)),
    ("typical", "a clear-to-send, a note and an echo reply, as they leave together",
     envelope(CLEAR_TO_SEND + NOTE + ECHO)),
    ("skippable", "a record of type 200 that may be skipped, then an echo",
     envelope(record(200, b"\1\2\3\4\5", flags=0x80) + ECHO)),
    ("longest", "a hello padded to the largest slot, 8192 bytes and 12",
     envelope(HELLO_TRYING + record(2, bytes(8204 - 48 - len(HELLO_TRYING) - 4)), receiver=0)),
]

print(f"""# Golden control packets: UD payloads, whole envelopes. Written by make_control.py.
#
# An entry is a line `name: sentence` and hex below it, indented; `00*N` stands for N zero bytes.
# Key of the MACs: the {len(KEY)} bytes "{KEY.decode()}". Sender nonce {SENDER:x}, receiver nonce
# {RECEIVER:x} or 0, sequence {SEQUENCE} or 1.""")


def lines_of(packet):
    """Thirty-two bytes a line; a long run of zeros as one word."""
    run = b"\0" * 256
    start = packet.find(run)
    if start >= 0:
        end = start + len(packet[start:]) - len(packet[start:].lstrip(b"\0"))
        yield from lines_of(packet[:start])
        yield f"00*{end - start}"
        yield from lines_of(packet[end:])
        return
    for at in range(0, len(packet), 32):
        line = packet[at:at + 32].hex()
        yield " ".join(line[i:i + 8] for i in range(0, len(line), 8))


for name, sentence, packet in GOLDEN:
    print(f"\n{name}: {sentence}")
    for line in lines_of(packet):
        print(f"  {line}")
