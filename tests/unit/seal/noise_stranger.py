"""Noise_IKpsk2_25519_ChaChaPoly_SHA256, written a second time with other people's cryptography.

Reads a command a line and answers each with a line; all bytes are hexadecimal, "-" for none:

    initiate OWN OTHER PRESHARED PROLOGUE PAYLOAD    -> MESSAGE
    finish MESSAGE                                   -> PAYLOAD SEND RECEIVE HASH, or "refused"
    respond OWN PRESHARED PROLOGUE MESSAGE PAYLOAD   -> OTHER PAYLOAD MESSAGE SEND RECEIVE HASH

It follows The Noise Protocol Framework, revision 34, token by token.
"""
import hashlib
import hmac
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NAME = b"Noise_IKpsk2_25519_ChaChaPoly_SHA256"
FIRST, SECOND = ("e", "es", "s", "ss"), ("e", "ee", "se", "psk")


def public(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def hkdf(chaining, material, outputs):
    base = hmac.digest(chaining, material, "sha256")
    made, block = [], b""
    for number in range(outputs):
        block = hmac.digest(base, block + bytes([number + 1]), "sha256")
        made.append(block)
    return made


class Handshake:
    def __init__(self, initiates, own, other, preshared, prologue, ephemeral=None):
        self.initiates = initiates
        self.s = X25519PrivateKey.from_private_bytes(own)
        self.e = (X25519PrivateKey.from_private_bytes(ephemeral) if ephemeral
                  else X25519PrivateKey.generate())
        self.rs, self.re, self.psk = other, None, preshared
        self.h = self.ck = hashlib.sha256(NAME).digest()
        self.k, self.n = None, 0
        self.mix_hash(prologue)
        self.mix_hash(other if initiates else public(self.s))

    def mix_hash(self, data):
        self.h = hashlib.sha256(self.h + data).digest()

    def mix_key(self, data):
        self.ck, self.k = hkdf(self.ck, data, 2)
        self.n = 0

    def nonce(self):
        self.n += 1
        return bytes(4) + (self.n - 1).to_bytes(8, "little")

    def seal(self, data):
        sealed = ChaCha20Poly1305(self.k).encrypt(self.nonce(), data, self.h)
        self.mix_hash(sealed)
        return sealed

    def open(self, sealed):
        data = ChaCha20Poly1305(self.k).decrypt(self.nonce(), sealed, self.h)
        self.mix_hash(sealed)
        return data

    def agree(self, token):
        ours, theirs = token if self.initiates else token[::-1]
        key = self.e if ours == "e" else self.s
        other = self.re if theirs == "e" else self.rs
        self.mix_key(key.exchange(X25519PublicKey.from_public_bytes(other)))

    def preshare(self):
        self.ck, mixed, self.k = hkdf(self.ck, self.psk, 3)
        self.mix_hash(mixed)
        self.n = 0

    def write(self, tokens, payload):
        message = b""
        for token in tokens:
            if token == "e":
                message += public(self.e)
                self.mix_hash(public(self.e))
                self.mix_key(public(self.e))
            elif token == "s":
                message += self.seal(public(self.s))
            elif token == "psk":
                self.preshare()
            else:
                self.agree(token)
        return message + self.seal(payload)

    def read(self, tokens, message):
        for token in tokens:
            if token == "e":
                self.re, message = message[:32], message[32:]
                self.mix_hash(self.re)
                self.mix_key(self.re)
            elif token == "s":
                self.rs, message = self.open(message[:48]), message[48:]
            elif token == "psk":
                self.preshare()
            else:
                self.agree(token)
        return self.open(message)

    def keys(self):
        first, second = hkdf(self.ck, b"", 2)
        ours, theirs = (first, second) if self.initiates else (second, first)
        return [ours, theirs, self.h]


def main():
    handshake = None
    for line in sys.stdin:
        command, *words = line.split()
        parts = [b"" if word == "-" else bytes.fromhex(word) for word in words]
        try:
            if command == "initiate":
                handshake = Handshake(True, *parts[:4])
                answer = [handshake.write(FIRST, parts[4])]
            elif command == "finish":
                answer = [handshake.read(SECOND, parts[0])] + handshake.keys()
            else:
                handshake = Handshake(False, parts[0], None, *parts[1:3])
                payload = handshake.read(FIRST, parts[3])
                answer = [handshake.rs, payload, handshake.write(SECOND, parts[4])]
                answer += handshake.keys()
            print(*[part.hex() or "-" for part in answer], flush=True)
        except (InvalidTag, ValueError):
            print("refused", flush=True)


if __name__ == "__main__":
    main()
