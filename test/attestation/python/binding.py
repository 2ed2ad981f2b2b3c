"""Checks what evidence binds. Written from docs/protocol/evidence.md alone; signatures of hardware are not checked.

Reads a list of {"nonce", "answer", "attestation", "keys"} from standard input: the nonce sent, the answer of POST /v1/evidence,
and the session statement with its keys. Prints a line for each: "bound", or what is wrong.
"""
import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import constant_time, hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Wrong(Exception):
    pass


def must(holds, otherwise):
    if not holds:
        raise Wrong(otherwise)


def b64u(text):
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    must(base64.urlsafe_b64encode(data).rstrip(b"=").decode() == text, "not canonical base64url")
    return data


def H(*parts):
    digest = hashes.Hash(hashes.SHA256())
    for part in parts:
        digest.update(part)
    return digest.finalize()


def root_of(nonce, path):
    fn, sn, r = path["index"], path["size"] - 1, H(b"\x00", nonce)
    must(0 <= fn <= sn, "index outside of size")
    for text in path["hashes"]:
        p = b64u(text)
        must(len(p) == 32 and sn != 0, "path too long")
        if fn % 2 == 1 or fn == sn:
            r = H(b"\x01", p, r)
            while fn % 2 == 0 and fn != 0:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = H(b"\x01", r, p)
        fn, sn = fn >> 1, sn >> 1
    must(sn == 0, "path too short")
    return r


def data_in(answer):
    report = b64u(answer["report"])
    kind = answer["format"]
    if kind in ("tdx", "dstack"):
        at = 574 if int.from_bytes(report[:2], "little") == 5 else 568
        return report[at : at + 64]
    if kind == "sev-snp":
        return report[80:144]
    must(kind == "confidential-space", "unknown format")
    nonce = json.loads(b64u(report.decode().split(".")[1]))["eat_nonce"]
    must(isinstance(nonce, str) or len(nonce) == 1, "not exactly one nonce")
    return b64u(nonce if isinstance(nonce, str) else nonce[0]) + bytes(32)


def check(asked):
    answer = asked["answer"]
    configuration = b64u(answer["configuration"])
    root = root_of(b64u(asked["nonce"]), answer["path"])
    binding = H(b"sealgate evidence 1", b64u(answer["kid"]), H(configuration), root)
    must(constant_time.bytes_eq(data_in(answer), binding + bytes(32)), "the report is not bound")

    header, claims, signature = asked["attestation"].split(".")
    kid = json.loads(b64u(header))["kid"]
    must(kid == answer["kid"], "the session is of another key")
    keys = [b64u(jwk["x"]) for jwk in asked["keys"]]
    thumbprint = lambda x: H(b'{"crv":"Ed25519","kty":"OKP","x":"%s"}' % base64.urlsafe_b64encode(x).rstrip(b"="))
    key = next((x for x in keys if thumbprint(x) == b64u(kid)), None)
    must(key is not None, "the key is missing")
    Ed25519PublicKey.from_public_bytes(key).verify(b64u(signature), f"{header}.{claims}".encode())
    claim = json.loads(b64u(claims)).get("configuration")
    must(claim is not None and b64u(claim) == H(configuration), "the session is of another configuration")


for asked in json.load(sys.stdin):
    try:
        check(asked)
        print("bound")
    except (Wrong, InvalidSignature, KeyError, ValueError) as error:
        print(f"refused: {error!r}")
