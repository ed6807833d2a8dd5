#!/usr/bin/env python3
"""Writes seal.txt: the golden packets of two sites that seal.

Made by the second implementation of section 19 of SPEC.md, tests/unit/seal/seal_stranger.py, so
that the C++ code is compared with that and not with itself.
Run it in its folder after a change of that section: ./make_seal.py > seal.txt
"""

import pathlib
import sys
import textwrap

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "unit/seal"))

import seal_stranger as seal


def counting(first, count):
    return bytes((first + i) & 0xFF for i in range(count))


KEY_A, KEY_B = counting(0x01, 32), counting(0x21, 32)
EPHEMERAL_A, EPHEMERAL_B = counting(0x41, 32), counting(0x61, 32)
PRESHARED, COOKIE, SALT = counting(0x81, 32), counting(0xA1, 16), counting(0xB1, 16)
TICKET, INDEX_A, INDEX_B, SHARD, COUNT = 0x11223344, 0x2A, 0x51, 3, 0x01020304
CIPHERS = ("aes_128", "aes_256", "chacha")


def public(private):
    return seal.noise.public(seal.X25519PrivateKey.from_private_bytes(private))


def meeting(ciphers=7, flags_b=3):
    """Both sites, the first message, and the second one."""
    a = seal.Site(KEY_A, public(KEY_B), PRESHARED, b"\x07", b"\x03")
    b = seal.Site(KEY_B, public(KEY_A), PRESHARED, bytes([ciphers]), bytes([flags_b]))
    b.index = INDEX_B
    first = a.ask(INDEX_A, TICKET, EPHEMERAL_A)
    handshake = b.handshake(False, EPHEMERAL_B)
    offer = seal.read_offer(handshake.read(seal.noise.FIRST, first[20 + 12:-32]))
    second = seal.control_packet(b.answer(handshake, TICKET, *offer))
    if b.session:
        a.hear(second)
        a.session.sent = b.session.sent = COUNT
    return a, b, first, second


def cookie_of(first):
    message = seal.cookie_message(COOKIE, public(KEY_B), first[-32:-16], SALT)
    return seal.control_packet(seal.handshake_packet(seal.COOKIE, TICKET, message, public(KEY_A)))


def write():
    packet = seal.Packet(bytes([seal.WRITE, 0x40]) + bytes(30))
    packet.solicited, packet.target_qp, packet.psn = 1, 0x123456, 0xFFFFFE
    packet.address, packet.key, packet.immediate = 0x1122334455667788, 0xABCDEF01, 0x80000001
    packet.payload = counting(0, 50)
    return packet


def datagram():
    packet = seal.Packet(bytes([seal.SEND, 0x40]) + bytes(18))
    packet.target_qp, packet.psn, packet.key = 0x00CA06, 0x00ABCD, seal.CONTROL_KEY
    packet.address, packet.payload = 0x00CA06, counting(0x80, 48)
    return packet


def sealed(site, packet):
    site.session.seal(packet, SHARD)
    return packet.data()


def handshakes():
    a, b, first, _ = meeting()
    yield "first", "A asks, with all ciphers", first
    a.cookie = COOKIE
    a.asked = None
    yield "first_proven", "the same with B's cookie", a.say_first()
    yield "cookie", "B's answer to the first of them", cookie_of(first)
    for bit, name in enumerate(CIPHERS):
        _, _, _, second = meeting(1 << bit)
        yield f"second_{name}", "B answers, and can that cipher alone", second
    _, _, _, second = meeting(flags_b=1)
    yield "second_none", "B answers that it does not seal data, so there is no session", second
    a, b, _, _ = meeting()
    yield "keys", "of A's packets and of B's, and the hash, by second_aes_128", b"".join(
        (a.session.send, a.session.receive, a.session.hash))


def packets():
    for bit, name in enumerate(CIPHERS):
        a, b, _, _ = meeting(1 << bit)
        yield f"write_{name}", "a slot of A, solicited, with two bytes of pad", sealed(a, write())
        yield f"datagram_{name}", "a datagram of A, the next", sealed(a, datagram())
        yield f"back_{name}", "the slot sent by B", sealed(b, write())
    a, _, _, _ = meeting(1, flags_b=2)
    yield "psn_free", "by AES-128, and the PSN is not covered, as B sees none", sealed(a, write())


def lines_of(packet):
    for at in range(0, len(packet), 32):
        line = packet[at:at + 32].hex()
        yield " ".join(line[i:i + 8] for i in range(0, len(line), 8))


ABOUT = f"""\
Transport packets, BTH to pad. A asks and B answers. Bytes that count upwards are: A's private key
from {KEY_A[0]:02x}, B's from {KEY_B[0]:02x}, the private halves of their ephemeral keys from
{EPHEMERAL_A[0]:02x} and {EPHEMERAL_B[0]:02x}, the preshared secret from {PRESHARED[0]:02x}, B's
cookie from {COOKIE[0]:02x}, the cookie's salt from {SALT[0]:02x}, what is sealed of a slot (50
bytes) from 00, of a datagram (48) from 80. The ticket is {TICKET:08x}; A calls the session
{INDEX_A:02x}, B {INDEX_B:02x}; both seal on shard {SHARD}, {COUNT:08x} packets before the first."""
print("# Golden packets of two sites that seal (SPEC.md 19). Written by make_seal.py.\n#")
print(textwrap.indent(textwrap.fill(ABOUT, 96), "# "))
for maker in (handshakes, packets):
    for name, sentence, packet in maker():
        print(f"\n{name}: {sentence}")
        for line in lines_of(packet):
            print(f"  {line}")
