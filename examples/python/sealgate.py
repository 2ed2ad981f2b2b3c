#!/usr/bin/env python3
"""The sealed completion protocol in Python, in one file, written from docs/protocol alone.

It needs nothing but Python 3.9 and the package `cryptography` (on Debian: `apt install python3-cryptography`), and has the
suite DHKEM(X25519), which that package can do. It is here to be read, and to show that the page says enough.

    python3 examples/python/sealgate.py chat http://localhost:3001 PIN "Hello there"
    python3 examples/python/sealgate.py vectors docs/protocol/vectors.json docs/protocol/negative.json
"""

import base64
import hashlib
import hmac
import io
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
import uuid

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

VERSION = 2
SUITE = {"kem": 32, "kdf": 1, "aead": 2}
COMPLETE, STREAM = 1, 2
MEDIA_TYPES = {COMPLETE: "application/vnd.sealgate.sealed+json", STREAM: "text/event-stream"}
STATUSES = ("complete", "failed", "aborted")
MAX_SKEW_SECONDS, MAX_SESSION_SECONDS = 60, 86_400
FLOOR, UNPACED_FLOOR, END_RECORD_BLOCK = 1024, 512, 4096


class Tampered(Exception):
    """What came is not what the pinned proxy sent, and no part of it may be used."""


class Refused(Exception):
    """A problem document without a seal: it could be anybody's, and says something of the transport alone."""


class Broken(Exception):
    """Neither an answer nor a refusal: whether the request was served is not known."""


class Failed(Exception):
    """The proxy's word, sealed and signed, that there is no answer, or not all of it."""


# Notation


def u32(number):
    return number.to_bytes(4, "big")


def u64(number):
    return number.to_bytes(8, "big")


def label(name):
    return b"sealgate/v2 " + name.encode("ascii") + b"\0"


def sha256(data):
    return hashlib.sha256(data).digest()


def to_b64u(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_b64u(text):
    """Every byte string has one spelling; whatever else could be read as it is refused."""
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        raise Tampered("not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if to_b64u(data) != text:
        raise Tampered("base64url with unused bits")
    return data


def from_json(data):
    """I-JSON (RFC 7493): of two members of one name, two readers could read two things."""

    def members(pairs):
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            raise Tampered("JSON with a member twice")
        return dict(pairs)

    def constant(name):
        raise Tampered(f"{name} is not JSON")

    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=members, parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # Fails on half of a surrogate pair.
    except (ValueError, RecursionError) as error:
        raise Tampered("not I-JSON") from error
    return value


def to_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


# Blocks


def padme(length):
    if length < 2:
        return length
    exponent = length.bit_length() - 1
    kept = exponent.bit_length()
    mask = (1 << (exponent - kept)) - 1
    return (length + mask) & ~mask


def pad(payload, floor):
    block = u32(len(payload)) + payload
    return block + bytes(padme(max(len(block), floor)) - len(block))


def unpad(block, floor):
    length = int.from_bytes(block[:4], "big")
    payload = block[4 : 4 + length]
    if len(block) < 4 or len(payload) != length or pad(payload, floor) != block:
        raise Tampered("a wrong block")
    return payload


# HKDF (RFC 5869) and HPKE in mode base (RFC 9180), DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM


def hmac_sha256(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def hkdf_expand(prk, info, length):
    output, block = b"", b""
    for counter in range(1, -(-length // 32) + 1):
        block = hmac_sha256(prk, block + info + bytes([counter]))
        output += block
    return output[:length]


def labeled_extract(suite, salt, name, ikm):
    return hmac_sha256(salt or bytes(32), b"HPKE-v1" + suite + name + ikm)


def labeled_expand(suite, prk, name, info, length):
    return hkdf_expand(prk, length.to_bytes(2, "big") + b"HPKE-v1" + suite + name + info, length)


KEM_SUITE = b"KEM" + (0x0020).to_bytes(2, "big")
HPKE_SUITE = b"HPKE" + b"".join(SUITE[part].to_bytes(2, "big") for part in ("kem", "kdf", "aead"))


def public_bytes(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def hpke_seal(public_key, info, aad, plaintext, ephemeral=None):
    """`enc`, the ciphertext and the exporter's secret, by a new sender's context of its own."""
    ephemeral = ephemeral or X25519PrivateKey.generate()
    enc = public_bytes(ephemeral)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public_key))
    eae_prk = labeled_extract(KEM_SUITE, b"", b"eae_prk", shared)
    secret = labeled_expand(KEM_SUITE, eae_prk, b"shared_secret", enc + public_key, 32)
    context = (
        b"\0"
        + labeled_extract(HPKE_SUITE, b"", b"psk_id_hash", b"")
        + labeled_extract(HPKE_SUITE, b"", b"info_hash", info)
    )
    schedule = labeled_extract(HPKE_SUITE, secret, b"secret", b"")
    key = labeled_expand(HPKE_SUITE, schedule, b"key", context, 32)
    nonce = labeled_expand(HPKE_SUITE, schedule, b"base_nonce", context, 12)
    exporter = labeled_expand(HPKE_SUITE, schedule, b"exp", context, 32)
    return enc, AESGCM(key).encrypt(nonce, plaintext, aad), exporter


def hpke_export(exporter, context, length):
    return labeled_expand(HPKE_SUITE, exporter, b"sec", context, length)


# Points of small order, which no honest key uses


P = 2**255 - 19
# The y coordinates of the eight points of small order on Ed25519's curve, and the u coordinates on X25519's.
Y8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
U8 = (1 + Y8) * pow(1 - Y8, -1, P) % P
SMALL_ORDER_Y = {0, 1, P - 1, Y8, P - Y8}
SMALL_ORDER_U = {0, 1, P - 1, U8, pow(U8, -1, P)}


def check_point(encoded, small_order, sign_bit):
    number = int.from_bytes(encoded, "little")
    coordinate = number & (2**255 - 1) if sign_bit else number
    if len(encoded) != 32 or coordinate >= P or coordinate in small_order:
        raise Tampered("a key that is not canonical or of small order")


# Statements: compact JWS, Ed25519


def thumbprint(public_key):
    jwk = '{"crv":"Ed25519","kty":"OKP","x":"' + to_b64u(public_key) + '"}'
    return to_b64u(sha256(jwk.encode("ascii")))


def verify_statement(statement, typ, identity):
    """The claims of a statement that the identity, an Ed25519 public key, has signed."""
    parts = statement.split(".") if isinstance(statement, str) else []
    if len(parts) != 3:
        raise Tampered("not a statement")
    header, claims, signature = (from_b64u(part) for part in parts)
    kid = thumbprint(identity)
    if from_json(header) != {"alg": "Ed25519", "typ": f"sealgate-{typ}+jwt", "kid": kid}:
        raise Tampered("a statement with another header")
    check_point(identity, SMALL_ORDER_Y, True)
    check_point(signature[:32], SMALL_ORDER_Y, True)
    try:
        Ed25519PublicKey.from_public_bytes(identity).verify(signature, statement.rpartition(".")[0].encode("ascii"))
    except InvalidSignature as error:
        raise Tampered("a statement with a wrong signature") from error
    value = from_json(claims)
    if not isinstance(value, dict) or value.get("iss") != kid or value.get("version") != VERSION:
        raise Tampered("a statement of somebody else, or of another version")
    return value


# Sessions, requests and responses


class Request:
    """One sealed request, and what its answer is opened with."""

    def __init__(self, attestation, claims, payload, credential=b"", ephemeral=None):
        self.claims, self.payload, self.credential = claims, payload, credential
        content = u32(len(credential)) + credential + payload
        session_id = from_b64u(claims["session_id"])
        attestation_hash = sha256(attestation.encode("ascii"))
        self.enc, self.ciphertext, exporter = hpke_seal(
            from_b64u(claims["public_key"]),
            label("request") + attestation_hash,
            label("request-aad") + session_id,
            pad(content, FLOOR),
            ephemeral,
        )
        self.secret = hpke_export(exporter, label("response"), 32)
        self.sealed_at = time.monotonic()
        self.hash = sha256(label("transcript") + attestation_hash + self.enc + sha256(self.ciphertext))

    def asks(self, member):
        """What the payload says; nothing if the proxy cannot read it either."""
        try:
            return from_json(self.payload).get(member)
        except Tampered:
            return None

    def takes_restarts(self):
        asked = self.asks("restart")
        return self.asks("api") == "chat.completions" if asked is None else asked

    def body(self):
        return to_json(
            {
                "session_id": self.claims["session_id"],
                "enc": to_b64u(self.enc),
                "ciphertext": to_b64u(self.ciphertext),
            }
        )


class Response:
    """Opens the frames of an answer in their order, and checks at the end that they were all."""

    def __init__(self, request, form, response_nonce):
        if len(response_nonce) != 32:
            raise Tampered("a nonce of another length")
        self.request, self.form = request, form
        self.prk = hmac_sha256(request.enc + response_nonce, request.secret)
        self.key = hkdf_expand(self.prk, label("key"), 32)
        self.base_nonce = hkdf_expand(self.prk, label("nonce"), 12)
        self.commit_key = hkdf_expand(self.prk, label("commit"), 32)
        self.credential_key = hkdf_expand(self.prk, label("credential"), 32)
        self.chain = self.data_chain = sha256(label("chain") + request.hash + response_nonce)
        self.count, self.data = 0, []

    def open(self, ciphertext, final):
        place = u64(self.count)
        nonce = bytes(a ^ b for a, b in zip(self.base_nonce, bytes(4) + place))
        aad = label("frame") + bytes([self.form]) + place + bytes([final]) + self.request.hash
        try:
            block = AESGCM(self.key).decrypt(nonce, ciphertext, aad)
        except InvalidTag as error:
            raise Tampered(f"frame {self.count} does not open") from error
        payload = unpad(block, UNPACED_FLOOR if self.form == STREAM and self.request.asks("pace") == 0 else FLOOR)
        self.data_chain = self.chain if final else self.data_chain
        self.chain = sha256(self.chain + place + bytes([final]) + sha256(ciphertext))
        self.count += 1
        if not final:
            self.data.append(payload)
        elif len(payload) % END_RECORD_BLOCK != END_RECORD_BLOCK - 4:
            raise Tampered("an end record of another size")
        return payload

    def commitments(self):
        credential = hmac_sha256(self.credential_key, self.request.credential)
        data = b"".join(u32(len(payload)) + payload for payload in self.data)
        return (
            hmac_sha256(self.commit_key, label("request") + credential + self.request.payload),
            hmac_sha256(self.commit_key, label("response") + data),
        )

    def check_receipt(self, end, identity):
        """The claims of the receipt in an end record, once they agree with all that is known here."""
        claims = verify_statement(end.get("receipt"), "receipt", identity)
        request_commitment, response_commitment = self.commitments()
        expected = {
            "session_id": self.request.claims["session_id"],
            "request_hash": to_b64u(self.request.hash),
            "form": "stream" if self.form == STREAM else "complete",
            "status": end.get("status"),
            "finish_reasons": end.get("finish_reasons"),
            "usage": end.get("usage"),
            "root": to_b64u(self.data_chain),
            "count": self.count - 1,
            "request_commitment": to_b64u(request_commitment),
            "response_commitment": to_b64u(response_commitment),
        }
        if claims.get("jti") is not None or end.get("status") != "failed":
            # The proxy does not know the id of a request that it could not read.
            expected["jti"] = self.request.asks("request_id")
        for name, value in expected.items():
            if claims.get(name) != value:
                raise Tampered(f"the receipt disagrees about {name}")
        must_follow(self.request.claims["iat"], *(claims.get(name) for name in ("received_at", "completed_at", "iat")))
        self.must_be_timely(claims, claims["iat"])
        self.must_fit(claims)
        if "usage" not in end:
            raise Tampered("an end record without usage")
        if end["status"] not in STATUSES:
            raise Tampered("a status that nobody knows")
        if end["status"] != "complete" and not isinstance(end.get("problem"), dict):
            raise Tampered("a failure that nothing is said of")
        return claims

    def must_be_timely(self, receipt, issued_at):
        """A statement is not made long after its client has it."""
        if issued_at - receipt["received_at"] > time.monotonic() - self.request.sealed_at + MAX_SKEW_SECONDS:
            raise Tampered("a statement from the future")

    def must_fit(self, receipt):
        """What the receipt says of question and answer stands in them, too."""
        provider, complete = receipt.get("provider"), receipt.get("status") == "complete"
        if complete and not isinstance(provider, str):
            raise Tampered("a complete answer by nobody")
        if provider is None:
            return
        if self.request.asks("provider") not in (None, provider):
            raise Tampered("the receipt names another provider than was asked for")
        issued_at = self.request.asks("issued_at")
        if not isinstance(issued_at, int) or abs(receipt["received_at"] - issued_at / 1000) > MAX_SKEW_SECONDS + 1:
            raise Tampered("a receipt of another time than the request")
        if not complete or self.request.asks("api") != "chat.completions":
            return
        taken_over, said = None, []
        for payload in map(from_json, self.data):
            if not isinstance(payload, dict):
                raise Tampered("an answer where there is none, or none where there is one")
            if self.form == STREAM and "restart" in payload:
                taken_over, said = payload["restart"]["provider"], []
            said += payload["deltas"] if self.form == STREAM else [payload]
        if taken_over not in (None, provider):
            raise Tampered("the receipt names another provider than took over")
        models = [chunk["model"] for chunk in said if isinstance(chunk.get("model"), str)]
        if models and receipt.get("model") not in models:
            raise Tampered("the receipt names another model than the answer")
        usage = [chunk["usage"] for chunk in said if chunk.get("usage") is not None]
        if usage and receipt.get("usage") != usage[-1]:
            raise Tampered("the receipt counts other tokens than the answer")
        ends = {
            choice.get("index", 0): choice["finish_reason"]
            for chunk in said
            for choice in chunk.get("choices") or []
            if choice.get("finish_reason") is not None
        }
        if ends and receipt.get("finish_reasons") != [ends[index] for index in sorted(ends)]:
            raise Tampered("the receipt names another end than the answer")

    def check_proof(self, proof, receipt, identity):
        claims = verify_statement(proof, "proof", identity)
        expected = {
            "session_id": self.request.claims["session_id"],
            "request_hash": to_b64u(self.request.hash),
            "root": to_b64u(self.chain),
            "count": self.count,
        }
        for name, value in expected.items():
            if claims.get(name) != value:
                raise Tampered(f"the proof disagrees about {name}")
        must_follow(receipt["iat"], claims.get("iat"))
        self.must_be_timely(receipt, claims["iat"])


def must_follow(*times):
    """The times of one exchange never run backwards."""
    for earlier, later in zip(times, times[1:]):
        if not isinstance(later, int) or later < earlier:
            raise Tampered("times that run backwards")


def member(value, name, kind):
    """A member of a JSON object, which must be of a type."""
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, kind) or (kind is int and (isinstance(found, bool) or abs(found) >= 2**53)):
        raise Tampered(f"{name} is missing, or of another type")
    return found


def media_type_of(content_type):
    return content_type.partition(";")[0].strip().lower()


def check_sealed(status, content_type, body, form):
    """Lets through what may be sealed: status 200 and the media type of what was asked for."""
    if 200 <= status < 300:
        if status != 200 or media_type_of(content_type) != MEDIA_TYPES[form]:
            raise Tampered("an answer that is not sealed")
        return
    refuse(status, content_type, body)


def refuse(status, content_type, body):
    """Tells a refusal of the proxy from an error of something between."""
    try:
        problem = from_json(body.read())
    except Tampered:
        problem = None
    if media_type_of(content_type) != "application/problem+json" or not isinstance(problem, dict):
        raise Broken(f"status {status} without a problem document")
    raise Refused(f"{status} {problem.get('code')}")


def read_complete(request, body, identity):
    """The API's answer and its receipt."""
    answer = from_json(body.read())
    frames = member(answer, "frames", list)
    if len(frames) != 2:
        raise Tampered("another number of frames than two")
    response = Response(request, COMPLETE, from_b64u(member(answer, "response_nonce", str)))
    completion = from_json(response.open(from_b64u(frames[0]), False))
    if completion is not None and not isinstance(completion, dict):
        raise Tampered("an answer that is no object")
    end = from_json(response.open(from_b64u(frames[1]), True))
    if not isinstance(end, dict):
        raise Tampered("an end record that is no object")
    receipt = response.check_receipt(end, identity)
    if (completion is not None) != (end["status"] == "complete"):
        raise Tampered("an answer where there is none, or none where there is one")
    must_be_complete(end)
    return completion, receipt


def read_stream(request, body, identity, show):
    """The receipt of a stream whose parts were shown. Before this returns, what was shown may be cut short."""
    response = receipt = None
    proven = False
    for name, data in events(body):
        if proven or (name == "open") != (response is None):
            raise Tampered(f"the event {name!r} out of its order")
        if name == "open":
            response = Response(request, STREAM, from_b64u(member(data, "response_nonce", str)))
        elif name == "frame" and receipt is None:
            if member(data, "seq", int) != response.count:
                raise Tampered("a frame out of its order")
            final = data.get("final", False)
            if not isinstance(final, bool):
                raise Tampered("final is neither true nor false")
            frame = from_json(response.open(from_b64u(member(data, "ciphertext", str)), final))
            if final:
                end, receipt = frame, response.check_receipt(frame, identity)
                continue
            if not all(isinstance(chunk, dict) for chunk in member(frame, "deltas", list)):
                raise Tampered("a delta that is no object")
            if "restart" in frame:
                for part in ("reason", "provider", "model"):
                    member(frame["restart"], part, str)
                if not request.takes_restarts():
                    raise Tampered("a restart that the request forbade")
            show(frame)
        elif name == "proof" and receipt is not None:
            response.check_proof(member(data, "proof", str), receipt, identity)
            proven = True
        else:
            raise Tampered(f"the event {name!r} out of its order")
    if not proven:
        raise Tampered("the stream was cut short: what came is genuine, and is not the answer")
    must_be_complete(end)
    return receipt


def must_be_complete(end):
    if end["status"] != "complete":
        raise Failed(f"{end['problem'].get('title')} ({end['problem'].get('code')})")


def verify_offer(body, asked, suites, pin):
    """The statement that begins a session, its claims and the pinned key, if it is the answer to the body `asked`."""
    offer = from_json(body)
    attestation = member(offer, "attestation", str)
    identity = keys_in(offer, pin)
    claims = verify_statement(attestation, "session", identity)
    if claims.get("init_hash") != to_b64u(sha256(asked)) or claims.get("suite") not in suites:
        raise Tampered("an offer for another question")
    lifetime = member(claims, "expires_at", int) - member(claims, "iat", int)
    if not 0 < lifetime <= MAX_SESSION_SECONDS or member(claims, "max_requests", int) < 1:
        raise Tampered("an offer that is over before it begins, or lasts too long")
    member(claims, "max_request_bytes", int)
    if len(from_b64u(member(claims, "session_id", str))) != 16:
        raise Tampered("a session_id of another length")
    # The only suite implemented here.
    check_point(from_b64u(member(claims, "public_key", str)), SMALL_ORDER_U, False)
    return attestation, claims, identity


# A client


def http(method, url, body=None):
    headers = {"content-type": "application/json"} if body is not None else {}
    try:
        return urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=120)
    except urllib.error.HTTPError as error:
        return error
    except OSError as error:
        raise Broken(str(error)) from error


def keys_in(offer, pin):
    """The key behind a pin: what comes from the network counts when its own thumbprint is the pin."""
    for jwk in member(offer, "keys", list):
        if isinstance(jwk, dict) and jwk.get("crv") == "Ed25519":
            key = from_b64u(jwk.get("x", ""))
            if len(key) == 32 and thumbprint(key) == pin:
                return key
    raise Tampered("the pinned key is not among the proxy's")


def begin_session(base_url, pin):
    asked = to_json({"client_nonce": to_b64u(os.urandom(16)), "suites": [SUITE]})
    asked_at = time.time()
    answer = http("POST", f"{base_url}/v1/init", asked)
    if answer.status != 200:
        refuse(answer.status, answer.headers.get("content-type", ""), answer)
    attestation, claims, identity = verify_offer(answer.read(), asked, [SUITE], pin)
    # The proxy truncates its clock to seconds, which half a second evens out.
    return attestation, claims, identity, claims["iat"] + 0.5 - asked_at


def events(stream):
    name, data = "", []
    for line in stream:
        try:
            line = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise Tampered("events that are not UTF-8") from error
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif line == "":
            if data:
                yield name, from_json("\n".join(data).encode("utf-8"))
            name, data = "", []


def chat(base_url, pin, prompt, credential=b""):
    """Streams an answer to standard output. It is an answer once this returns; before that, it may be cut short."""
    attestation, claims, identity, clock = begin_session(base_url, pin)
    payload = {
        "request_id": str(uuid.uuid4()),
        "issued_at": int((time.time() + clock) * 1000),
        "api": "chat.completions",
        "restart": False,
        "body": {"messages": [{"role": "user", "content": prompt}], "stream": True},
    }
    request = Request(attestation, claims, to_json(payload), credential)
    with http("POST", f"{base_url}/v1/completions", request.body()) as answer:
        check_sealed(answer.status, answer.headers.get("content-type", ""), answer, STREAM)
        receipt = read_stream(request, answer, identity, show)
    print(f"\n\nserved by {receipt['provider']} ({receipt['model']}); the receipt is signed by the pinned {pin}")


def show(frame):
    for chunk in frame["deltas"]:
        for choice in chunk["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)


# The vectors


def replay(path, negative_path):
    """Replays what the vectors have of this suite; says how many values came out as they should."""
    with open(path, "rb") as file:
        vectors = from_json(file.read())
    with open(negative_path, "rb") as file:
        negatives = from_json(file.read())
    compared = 0

    def same(what, value, expected):
        nonlocal compared
        found = value.hex() if isinstance(value, bytes) else value
        if found != expected:
            raise SystemExit(f"{what} is\n  {found}\nand should be\n  {expected}")
        compared += 1

    def refused(what, attempt):
        nonlocal compared
        try:
            attempt()
        except Tampered:
            compared += 1
        else:
            raise SystemExit(f"{what} was not refused")

    for case in vectors["base64url"]["accepted"]:
        same("base64url", from_b64u(case["text"]), case["bytes"])
    for case in vectors["base64url"]["refused"]:
        refused(f"base64url {case['text']!r} ({case['why']})", lambda case=case: from_b64u(case["text"]))
    for case in vectors["labels"]:
        same("a label", label(case["name"]), case["bytes"])
    for case in vectors["padme"]:
        same("padme", padme(case["length"]), case["size"])
    for case in vectors["blocks"]:
        same("a block", pad(bytes.fromhex(case["payload"]), case["floor"]), case["block"])

    identity = bytes.fromhex(vectors["identity"]["public_key"])
    same("the thumbprint", thumbprint(identity), vectors["identity"]["kid"])
    for name, session in vectors["sessions"].items():
        claims = verify_statement(session["attestation"], "session", identity)
        same(f"the claims of {name}", claims, session["claims"])
        same("init_hash", to_b64u(sha256(session["request_body"].encode("utf-8"))), claims["init_hash"])
    for exchange in vectors["exchanges"]:
        session = vectors["sessions"][exchange["session"]]
        if session["claims"]["suite"] == SUITE:
            replay_exchange(exchange, session, identity, same)
    for case in negatives["offers"] + negatives["answers"]:
        session = session_of(vectors, case)
        if session["claims"]["suite"] == SUITE:
            said = verdict(lambda case=case: judge(vectors, case))
            same(f"what is said of {case['rules']}, {case['why']},", said, case["expect"])
    print(f"{compared} values, as {path} and {negative_path} have them")


def session_of(vectors, case):
    return vectors["sessions"][case["session"] if "session" in case else exchange_of(vectors, case)["session"]]


def exchange_of(vectors, case):
    return next(each for each in vectors["exchanges"] if each["name"] == case["exchange"])


def verdict(attempt):
    """What a client says of what it was sent, in the words of the vectors."""
    try:
        attempt()
    except Tampered:
        return "attack"
    except Refused:
        return "refusal"
    except Broken:
        return "break"
    except Failed:
        return "failure"
    return "answer"


def judge(vectors, case):
    """Reads an offer or an answer of the vectors as a client does."""
    session = session_of(vectors, case)
    body = bytes.fromhex(case["body_hex"]) if "body_hex" in case else case["body"].encode("utf-8")
    if "exchange" not in case:
        if case["status"] != 200:
            refuse(case["status"], case["content_type"], io.BytesIO(body))
        verify_offer(body, session["request_body"].encode("utf-8"), [SUITE], vectors["identity"]["kid"])
        return
    identity = bytes.fromhex(vectors["identity"]["public_key"])
    exchange = exchange_of(vectors, case)
    request = request_of(exchange, session)
    form = STREAM if exchange["form"] == "stream" else COMPLETE
    check_sealed(case["status"], case["content_type"], io.BytesIO(body), form)
    if form == STREAM:
        read_stream(request, io.BytesIO(body), identity, lambda frame: None)
    else:
        read_complete(request, io.BytesIO(body), identity)


def request_of(exchange, session):
    """The request of an exchange, sealed anew with the ephemeral key that it was sealed with."""
    asked = exchange["request"]
    ephemeral = X25519PrivateKey.from_private_bytes(bytes.fromhex(asked["ephemeral_private_key"]))
    payload, credential = asked["payload"].encode("utf-8"), asked["credential"].encode("utf-8")
    return Request(session["attestation"], session["claims"], payload, credential, ephemeral)


def replay_exchange(exchange, session, identity, same):
    asked, answered = exchange["request"], exchange["response"]
    request = request_of(exchange, session)
    same("enc", request.enc, asked["enc"])
    same("the ciphertext", request.ciphertext, asked["ciphertext"])
    same("the exported secret", request.secret, asked["exported_secret"])
    same("the request's hash", request.hash, asked["request_hash"])
    same("the body", from_json(request.body()), asked["body"])
    form = STREAM if exchange["form"] == "stream" else COMPLETE
    response = Response(request, form, bytes.fromhex(answered["response_nonce"]))
    for name in ("prk", "key", "base_nonce", "commit_key", "credential_key"):
        same(name, getattr(response, name), answered[name])
    same("the chain's seed", response.chain, answered["chain_seed"])
    for frame in answered["frames"]:
        payload = response.open(bytes.fromhex(frame["ciphertext"]), frame["final"])
        same("a frame", payload, frame["payload"].encode("utf-8").hex())
        same("the chain", response.chain, frame["chain"])
    end = from_json(payload)
    request_commitment, response_commitment = response.commitments()
    same("the commitment to the request", request_commitment, answered["request_commitment"])
    same("the commitment to the answer", response_commitment, answered["response_commitment"])
    receipt = response.check_receipt(end, identity)
    same("the receipt", receipt, answered["receipt_claims"])
    if form == STREAM:
        response.check_proof(answered["proof"], receipt, identity)


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "chat":
        credential = os.environ.get("SEALGATE_CREDENTIAL", "").encode("utf-8")
        chat(arguments[1].rstrip("/"), arguments[2], arguments[3], credential)
    elif len(arguments) == 3 and arguments[0] == "vectors":
        replay(arguments[1], arguments[2])
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Tampered as error:
        raise SystemExit(f"\nNot genuine: {error}.") from error
    except Refused as error:
        raise SystemExit(f"\nRefused, as far as can be known: {error}.") from error
    except Broken as error:
        raise SystemExit(f"\nNo answer, and it may have been served: {error}.") from error
    except Failed as error:
        raise SystemExit(f"\nThe request failed: {error}") from error
