"""Section 19 of SPEC.md, written a second time from its text with other people's cryptography: a
site that makes sessions with one other and seals what it sends, whole packets from BTH to pad.

Reads a command a line and answers each with a line; all bytes are hexadecimal, "-" for none:

    site OWN OTHER PRESHARED CIPHERS FLAGS -> -        it is this one now, and knows nothing
    ask INDEX                              -> PACKET   a first message with a new ephemeral key
    ticket TICKET                          -> PACKET   the same one under another ticket
    index INDEX                            -> -        for sessions that it is asked for
    demand COOKIE                          -> -        of first messages, before it answers them
    hear PACKET                            -> PACKET   what it answers; "-": nothing
    seal PACKET                            -> PACKET   by the newest session
    open PACKET                            -> PACKET
    session                                -> CIPHER SEND RECEIVE HASH   of the newest

"refused SENTENCE" where a packet is not what the section says.
"""
import hmac
import os
import struct
import sys

sys.dont_write_bytecode = True

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

import noise_stranger as noise

MAGIC, VERSION, PROLOGUE = 0xCA5E, 1, b"causeway seal 1"
FIRST, SECOND, COOKIE = 1, 2, 3
MESSAGE_BYTES = {FIRST: 100, SECOND: 52, COOKIE: 48}
CONTROL_QP, CONTROL_KEY = 0x00CA05, 0x1CA05E0A
WRITE, SEND = 0x2B, 0x64
PSNS, DATA = 1, 2
# By the bits of an offer: key bytes, and what seals by it.
CIPHERS = [(16, AESGCM), (32, AESGCM), (32, ChaCha20Poly1305)]


class Refused(Exception):
    pass


def must(is_so, sentence):
    if not is_so:
        raise Refused(sentence)


def mac(key, data):
    return hmac.digest(key, data, "sha256")[:16]


# ---- transport packets (2.5 to 2.10) ----

class Packet:
    """What stands in its headers, and its payload."""

    def __init__(self, data):
        self.opcode, bits = data[0], data[1]
        must(self.opcode in (WRITE, SEND), "opcode")
        must(bits & 15 == 0, "version")
        self.solicited, pad = bits >> 7, bits >> 4 & 3
        self.target_qp = int.from_bytes(data[5:8], "big")
        self.psn = int.from_bytes(data[9:12], "big")
        must(len(data) % 4 == 0, "pad")
        if self.opcode == WRITE:
            self.address, self.key, length, self.immediate = struct.unpack(">QIII", data[12:32])
        else:
            self.key, self.address = struct.unpack(">II", data[12:20])
            self.address &= 0xFFFFFF  # the source QP
            self.immediate = 0
        self.payload = data[32 if self.opcode == WRITE else 20:len(data) - pad]
        must(self.opcode != WRITE or length == len(self.payload), "length of the RETH")

    def data(self):
        pad = -len(self.payload) % 4
        made = bytes([self.opcode, self.solicited << 7 | 0x40 | pad << 4]) + b"\xff\xff"
        made += struct.pack(">II", self.target_qp, self.psn)
        if self.opcode == WRITE:
            made += struct.pack(">QIII", self.address, self.key, len(self.payload), self.immediate)
        else:
            made += struct.pack(">II", self.key, self.address)
        return made + self.payload + bytes(pad)


def control_packet(payload):
    head = struct.pack(">BBHIIII", SEND, 0x40, 0xFFFF, CONTROL_QP, 0, CONTROL_KEY, CONTROL_QP)
    return head + payload + bytes(-len(payload) % 4)


# ---- handshake packets (19.1) ----

def check_key(receiver):
    return b"causeway handshake" + receiver


def handshake_packet(kind, ticket, message, receiver, cookie=None):
    made = struct.pack(">HBBII", MAGIC, VERSION, kind, ticket, 0) + message
    made += mac(check_key(receiver), made)
    return made + (mac(cookie, made) if cookie else bytes(16))


def cookie_message(cookie, sender, first_check, salt):
    key = hmac.digest(b"causeway cookie" + sender, salt, "sha256")
    return salt + ChaCha20Poly1305(key).encrypt(bytes(12), cookie, first_check)


def open_cookie(message, sender, first_check):
    key = hmac.digest(b"causeway cookie" + sender, message[:16], "sha256")
    return ChaCha20Poly1305(key).decrypt(bytes(12), message[16:], first_check)


def offer(index, ciphers, flags):
    return bytes([index, ciphers, flags, 0])


def read_offer(data):
    index, ciphers, flags, reserved = data
    must(ciphers < 8 and flags < 4 and reserved == 0, "a bit of the offer")
    return index, ciphers, flags


# ---- sealed packets (19.3) ----

class Session:
    def __init__(self, cipher, own_index, other_index, covers_psns, keys):
        key_bytes, self.algorithm = CIPHERS[cipher]
        self.cipher, self.own_index, self.other_index = cipher, own_index, other_index
        self.covers_psns = covers_psns
        self.send, self.receive, self.hash = keys
        self.sealer = self.algorithm(self.send[:key_bytes])
        self.opener = self.algorithm(self.receive[:key_bytes])
        self.sent, self.seen = 0, set()

    def associated(self, packet, length):
        psn = packet.psn if self.covers_psns else 0xFFFFFFFF
        solicited = packet.solicited if self.covers_psns else 0
        address = packet.address if packet.opcode == WRITE else 0
        return struct.pack(">BBHIIIQII", packet.opcode, solicited, 0, packet.target_qp, psn,
                           packet.key, address, length, packet.immediate)

    def seal(self, packet, shard=0):
        number = struct.pack(">Q", self.other_index << 56 | shard << 48 | self.sent)
        self.sent += 1
        made = self.sealer.encrypt(bytes(4) + number, packet.payload,
                                   self.associated(packet, len(packet.payload)))
        packet.payload = made[:-16] + number + made[-16:]

    def open(self, packet):
        must(len(packet.payload) >= 24, "short")
        text, number, tag = packet.payload[:-24], packet.payload[-24:-16], packet.payload[-16:]
        must(number[0] == self.own_index, "of another session")
        must(number not in self.seen, "a number that was used")
        packet.payload = self.opener.decrypt(bytes(4) + number, text + tag,
                                             self.associated(packet, len(text)))
        self.seen.add(number)


class Site:
    def __init__(self, own, other, preshared, ciphers, flags):
        self.own, self.other, self.preshared = own, other, preshared
        self.public = noise.public(X25519PrivateKey.from_private_bytes(own))
        self.ciphers, self.flags = ciphers[0], flags[0]
        self.index, self.wanted, self.cookie = 1, None, None
        self.session = self.asked = None

    def handshake(self, initiates, ephemeral=None):
        other = self.other if initiates else None
        return noise.Handshake(initiates, self.own, other, self.preshared, PROLOGUE, ephemeral)

    def ask(self, index, ticket=None, ephemeral=None):
        self.asked = self.handshake(True, ephemeral)
        self.ticket = ticket or int.from_bytes(os.urandom(4), "big") | 1
        self.asked_index = index
        self.message = self.asked.write(noise.FIRST, offer(index, self.ciphers, self.flags))
        return self.say_first()

    def say_first(self):
        made = handshake_packet(FIRST, self.ticket, self.message, self.other, self.cookie)
        self.first_check = made[-32:-16]
        return control_packet(made)

    def hear(self, data):
        packet = Packet(data)
        must(packet.opcode == SEND and packet.key == CONTROL_KEY, "no control packet")
        must(packet.target_qp == CONTROL_QP, "not to the control QP of link 0")
        data = packet.payload
        must(len(data) >= 12, "short")
        magic, version, kind, ticket, _ = struct.unpack(">HBBII", data[:12])
        must((magic, version) == (MAGIC, VERSION), "magic or version")
        must(kind in MESSAGE_BYTES and len(data) == 44 + MESSAGE_BYTES[kind], "length of its type")
        must(ticket != 0, "ticket")
        first_check = mac(check_key(self.public), data[:-32])
        must(hmac.compare_digest(first_check, data[-32:-16]), "first MAC")
        if kind == FIRST:
            return self.hear_first(data, ticket)
        must(self.asked is not None and ticket == self.ticket, "an answer to something else")
        must(kind != COOKIE or data[-16:] == bytes(16), "the second MAC of a cookie")
        return self.hear_second(data) if kind == SECOND else self.hear_cookie(data)

    def hear_first(self, data, ticket):
        if self.wanted and not hmac.compare_digest(mac(self.wanted, data[:-16]), data[-16:]):
            message = cookie_message(self.wanted, self.public, data[-32:-16], os.urandom(16))
            return control_packet(handshake_packet(COOKIE, ticket, message, self.other))
        handshake = self.handshake(False)
        index, ciphers, flags = read_offer(handshake.read(noise.FIRST, data[12:-32]))
        must(handshake.rs == self.other, "a key that is not the peer's")
        return control_packet(self.answer(handshake, ticket, index, ciphers, flags))

    def answer(self, handshake, ticket, index, ciphers, flags):
        common = ciphers & self.ciphers
        holds = common & -common if (flags ^ self.flags) & DATA == 0 else 0
        ours = offer(self.index if holds else 0, holds, self.flags)
        message = handshake.write(noise.SECOND, ours)
        if holds:
            self.session = Session(holds.bit_length() - 1, self.index, index,
                                   bool(flags & self.flags & PSNS), handshake.keys())
        return handshake_packet(SECOND, ticket, message, self.other)

    def hear_second(self, data):
        handshake, self.asked = self.asked, None
        index, holds, flags = read_offer(handshake.read(noise.SECOND, data[12:-32]))
        must(holds != 0, "no session")
        must(holds & self.ciphers and holds & (holds - 1) == 0, "not one of the ciphers offered")
        must((flags ^ self.flags) & DATA == 0, "what is sealed")
        self.session = Session(holds.bit_length() - 1, self.asked_index, index,
                               bool(flags & self.flags & PSNS), handshake.keys())
        return b""

    def hear_cookie(self, data):
        self.cookie = open_cookie(data[12:-32], self.other, self.first_check)
        return self.say_first()

    def cross(self, data, opens):
        packet = Packet(data)
        must(self.session is not None, "no session")
        if opens:
            self.session.open(packet)
        else:
            self.session.seal(packet)
        return packet.data()


def answer_of(site, command, parts):
    if command == "ask":
        return [site.ask(parts[0][0])]
    if command in ("seal", "open"):
        return [site.cross(parts[0], command == "open")]
    if command == "session":
        it = site.session
        must(it is not None, "no session")
        return [bytes([it.cipher]), it.send, it.receive, it.hash]
    if command == "hear":
        return [site.hear(parts[0])]
    if command == "ticket":
        site.ticket = int.from_bytes(parts[0], "big")
        return [site.say_first()]
    if command == "index":
        site.index = parts[0][0]
    else:
        site.wanted = parts[0] or None
    return [b""]


def main():
    site = None
    for line in sys.stdin:
        command, *words = line.split()
        parts = [b"" if word == "-" else bytes.fromhex(word) for word in words]
        try:
            if command == "site":
                site = Site(*parts)
                print("-", flush=True)
            else:
                answer = answer_of(site, command, parts)
                print(*[part.hex() or "-" for part in answer], flush=True)
        except InvalidTag:
            print("refused it does not open", flush=True)
        except (Refused, ValueError) as error:
            print("refused", error, flush=True)


if __name__ == "__main__":
    main()
