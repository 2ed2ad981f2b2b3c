/** Offers that a client must refuse before it seals anything. */
import { omit } from "../../omit.ts"
import type { JsonObject } from "../../../domain/json/json.ts"
import { b64u, bytes, fromB64u, fromHex, sha256 } from "../../lyingProxy/reference.ts"
import { type Case, refused } from "../Case.ts"

const claiming = (must: string, name: string, says: string, change: (claims: JsonObject) => JsonObject): Case =>
  refused(must, name, says, { session: { claims: (claims) => ({ ...claims, ...change(claims) }) } })

const without = (must: string, member: string): Case =>
  refused(must, `offer-without-${member.replaceAll("_", "-")}`, `leaves ${member} out of its offer`, {
    session: { claims: (claims) => omit(claims, member) },
  })

const keyIn = ({ public_key }: JsonObject): Buffer => fromB64u(String(public_key))

/** Replaces the X25519 part of the session's key, its last 32 bytes in either suite. */
const weakKey = (name: string, says: string, hex: string): Case =>
  claiming("C4", `offer-key-${name}`, `offers a key whose X25519 part is ${says}`, (claims) => ({
    public_key: b64u(bytes(keyIn(claims).subarray(0, -32), fromHex(hex))),
  }))

const weakMlKem = (name: string, says: string, place: number, coefficients: ReadonlyArray<number>): Case =>
  refused("C5", `offer-key-mlkem-${name}`, `offers a key whose ML-KEM part has ${says}`, {
    suite: "MLKEM768-X25519",
    session: {
      claims: (claims) => {
        const key = keyIn(claims)
        key.set(coefficients, place)
        return { ...claims, public_key: b64u(key) }
      },
    },
  })

const resized = (name: string, change: (key: Buffer) => Buffer): Case =>
  claiming("C16", `offer-key-${name}`, `offers a key that is ${name}`, (claims) => ({
    public_key: b64u(change(keyIn(claims))),
  }))

const NOTHING = new Uint8Array(32)
/** A day and a second. */
const TOO_LONG = 86_401
const ORDER_8 = "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"

export const offers: ReadonlyArray<Case> = [
  claiming("C14", "offer-hash-other", "signs the hash of another request than was sent, as an old offer does", () => ({
    init_hash: b64u(sha256(NOTHING)),
  })),
  claiming("C14", "offer-hash-padded", "spells the right hash with padding", ({ init_hash }) => ({
    init_hash: `${String(init_hash)}=`,
  })),
  claiming("C15", "offer-suite-unknown", "takes a suite that was not offered", () => ({
    suite: { kem: 16, kdf: 1, aead: 2 },
  })),
  refused("C15", "offer-suite-other", "takes an existing suite that was not offered", {
    otherSuite: true,
  }),
  claiming("C15", "offer-suite-kdf", "takes the KEM that was offered with another KDF", ({ suite }) => ({
    suite: { ...Object(suite), kdf: 3 },
  })),
  claiming("C15", "offer-suite-aead", "takes the KEM that was offered with another AEAD", ({ suite }) => ({
    suite: { ...Object(suite), aead: 3 },
  })),
  claiming("C15", "offer-suite-text", "writes the numbers of the suite as text", ({ suite }) => ({
    suite: Object.fromEntries(Object.entries(Object(suite)).map(([name, value]) => [name, String(value)])),
  })),
  weakKey("zero", "zero", "00".repeat(32)),
  weakKey("one", "one", `01${"00".repeat(31)}`),
  weakKey("order-8", "of order 8", ORDER_8),
  {
    ...weakKey("mlkem-order-8", "of order 8, beside an ML-KEM part that is right", ORDER_8),
    suite: "MLKEM768-X25519" as const,
  },
  weakKey(
    "order-8-other",
    "the other point of order 8",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  ),
  weakKey("minus-one", "one less than the prime", `ec${"ff".repeat(30)}7f`),
  weakKey("prime", "the prime itself", `ed${"ff".repeat(30)}7f`),
  weakKey("beyond-prime", "above the prime, as a second encoding of another point", `f6${"ff".repeat(30)}7f`),
  claiming("C4", "offer-key-top-bit", "offers a key whose X25519 part has its top bit set", (claims) => {
    const key = keyIn(claims)
    key[key.length - 1] = (key.at(-1) ?? 0) | 0x80
    return { public_key: b64u(key) }
  }),
  weakMlKem("first", "a first coefficient that is not below 3329", 0, [0xff, 0xff, 0xff]),
  weakMlKem("last", "a last coefficient that is not below 3329", 1149, [0x00, 0x10, 0xd0]),
  resized("one byte short", (key) => key.subarray(1)),
  resized("one byte long", (key) => bytes(key, Buffer.alloc(1))),
  resized("empty", () => Buffer.alloc(0)),
  claiming("C17", "offer-expired", "ends before it begins", ({ iat }) => ({ expires_at: Number(iat) - 1 })),
  claiming("C17", "offer-no-time", "ends when it begins", ({ iat }) => ({ expires_at: iat })),
  claiming("C17", "offer-expiry-text", "writes the time of its end as text", ({ expires_at }) => ({
    expires_at: String(expires_at),
  })),
  claiming("C17", "offer-expiry-unsafe", "ends at a number of seconds beyond 2^53", () => ({
    expires_at: 2 ** 60,
  })),
  claiming("C2", "offer-bytes-unsafe", "allows a number of bytes beyond 2^53", () => ({
    max_request_bytes: 2 ** 53,
  })),
  claiming("C16", "offer-id-short", "has a session_id of 15 bytes", () => ({
    session_id: b64u(NOTHING.subarray(0, 15)),
  })),
  claiming("C16", "offer-id-long", "has a session_id of 17 bytes", () => ({
    session_id: b64u(NOTHING.subarray(0, 17)),
  })),
  claiming("C16", "offer-id-padded", "spells its session_id with padding", ({ session_id }) => ({
    session_id: `${String(session_id)}==`,
  })),
  ...(
    [
      ["C14", "init_hash"],
      ["C15", "suite"],
      ["C16", "public_key"],
      ["C16", "session_id"],
      ["C17", "expires_at"],
      ["C17", "iat"],
      ["C17", "max_requests"],
      ["C17", "max_request_bytes"],
    ] as const
  ).map(([must, member]) => without(must, member)),
  claiming("C17", "offer-too-long", "offers a session of ten years", ({ iat }) => ({
    expires_at: Number(iat) + 315_360_000,
  })),
  claiming("C17", "offer-a-second-too-long", "offers a session of a day and a second", ({ iat }) => ({
    expires_at: Number(iat) + TOO_LONG,
  })),
  claiming("C17", "offer-no-requests", "serves no request", () => ({ max_requests: 0 })),
  refused("C29", "offer-empty", "answers without a statement", { offer: ({ keys }) => ({ keys }) }),
  refused("C29", "offer-array", "answers with something that is no object", { offer: (offer) => [offer] }),
  refused("C29", "offer-not-text", "answers with a statement that is no text", {
    offer: ({ attestation, keys }) => ({ attestation: [attestation], keys }),
  }),
  refused("C10", "keys-missing", "sends an offer without keys", { offer: ({ attestation }) => ({ attestation }) }),
  refused("C10", "keys-none", "does not send the key that it signs with", {
    offer: (offer) => ({ ...offer, keys: [] }),
  }),
  refused("C6", "keys-not-a-set", "sends something else than a set of keys", {
    offer: (offer) => ({ ...offer, keys: "nothing" }),
  }),
  refused("C6", "keys-renamed", "sends a stranger's key under the pinned kid, and signs with that", {
    offer: ({ attestation, keys }, stranger) => ({ attestation, keys: [{ ...stranger, kid: keys[0]?.kid }] }),
    session: { byStranger: true },
  }),
].map((each) => ({ ...each, name: each.name.replaceAll(" ", "-") }))
