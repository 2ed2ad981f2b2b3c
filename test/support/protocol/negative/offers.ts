/** Answers to `POST /v1/init`. */
import * as reference from "../reference.ts"
import { b64u, bytes, type Claims, fromHex } from "../reference.ts"
import type { Vectors } from "../vectors.ts"
import { type Given, problem, type Verdict } from "./common.ts"
import { NOT_CANONICAL, SMALL_ORDER } from "./points.ts"
import { headerOf, OTHER, wrongSignatures } from "./statements.ts"

export type Offer = Given<{
  /** Whose `request_body` was sent. */
  readonly session: string
  readonly status: number
  readonly content_type: string
  readonly body: string
  readonly expect: Verdict
}>

export const makeOffers = (vectors: Vectors, identity: reference.Identity): ReadonlyArray<Offer> => {
  const { X25519: session, "MLKEM768-X25519": xWing } = vectors.sessions
  const sign = (claims: Claims) => reference.statement(identity, "session", claims).statement
  const body = (attestation: string, jwk: object = identity.jwk) => JSON.stringify({ attestation, keys: [jwk] })
  const answered = (rule: string, why: string, attestation: string, more: Partial<Offer> = {}): Offer => ({
    rules: [rule],
    why,
    session: session.name,
    status: 200,
    content_type: "application/json",
    body: body(attestation),
    expect: "attack",
    ...more,
  })
  const claiming = (rule: string, why: string, change: Claims, from = session) =>
    answered(rule, why, sign({ ...from.claims, ...change }), { session: from.name })
  const xWingKey = fromHex(xWing.public_key)
  const withCoefficient = (key: Buffer) => {
    // The first coefficient becomes 3329: the eight low bits, and four in the next byte.
    const changed = Buffer.from(key)
    changed[0] = 3329 & 0xff
    changed[1] = ((changed[1] ?? 0) & 0xf0) | (3329 >> 8)
    return changed
  }
  const [, honest = ""] = /"attestation":"([^"]*)"/.exec(JSON.stringify({ attestation: session.attestation })) ?? []
  const [input = ""] = session.request_body.split('"suites"')
  return [
    answered("C3", "members that a client does not know, in body and claims", sign({ ...session.claims, note: "x" }), {
      body: JSON.stringify({
        attestation: sign({ ...session.claims, note: "x" }),
        keys: [identity.jwk],
        note: { a: [] },
      }),
      expect: "answer",
    }),
    answered("C2", "a body with a member twice", "", {
      body: body(honest).replace("{", `{"attestation":${JSON.stringify(honest)},`),
    }),
    answered("C29", "a body without a statement", "", { body: JSON.stringify({ keys: [identity.jwk] }) }),
    answered("C10", "a body without keys", "", { body: JSON.stringify({ attestation: honest }) }),
    answered("C10", "an empty set of keys", "", { body: JSON.stringify({ attestation: honest, keys: [] }) }),
    ...wrongSignatures(identity, "session").map(([rule, why, signed]) => answered(rule, why, signed(session.claims))),
    answered("C6", "the key of somebody else, shown under the pinned kid", "", {
      body: body(reference.jws(OTHER.seed, headerOf(identity, "session"), session.claims).statement, {
        ...OTHER.jwk,
        kid: identity.kid,
      }),
    }),
    answered("C10", "an offer of somebody else, whose key is shown", "", {
      body: body(reference.statement(OTHER, "session", { ...session.claims, iss: OTHER.kid }).statement, OTHER.jwk),
    }),
    claiming("C14", "the hash of a body with a shorter list of suites", {
      init_hash: reference.initHash(`${input}"suites":[]}`),
    }),
    claiming("C14", "the hash of a body with another nonce", {
      init_hash: reference.initHash(session.request_body.replace('nonce":"', 'nonce":"A')),
    }),
    claiming("C15", "the suite MLKEM768-X25519, which was not offered", {
      suite: xWing.claims["suite"],
      public_key: xWing.claims["public_key"],
    }),
    claiming("C15", "a suite that nobody knows", { suite: { kem: 32, kdf: 1, aead: 3 } }),
    claiming("C16", "a public key of 31 bytes", { public_key: b64u(fromHex(session.public_key).subarray(1)) }),
    claiming("C16", "a session_id of 15 bytes", { session_id: b64u(fromHex(session.session_id).subarray(1)) }),
    claiming("C2", "an integer beyond 2^53 - 1", { max_request_bytes: 2 ** 53 }),
    claiming("C17", "an end that is the beginning", { expires_at: session.claims["iat"] }),
    claiming("C17", "a session of a day and a second", { expires_at: Number(session.claims["iat"]) + 86_401 }),
    claiming("C17", "a session that serves nothing", { max_requests: 0 }),
    ...SMALL_ORDER.map((key) => claiming("C4", "a public key of small order", { public_key: b64u(fromHex(key)) })),
    ...NOT_CANONICAL.map((key) =>
      claiming("C4", "a public key that is not canonical", { public_key: b64u(fromHex(key)) }),
    ),
    claiming(
      "C4",
      "a public key whose X25519 part is of small order",
      { public_key: b64u(bytes(xWingKey.subarray(0, 1184), fromHex(SMALL_ORDER[2] ?? ""))) },
      xWing,
    ),
    claiming(
      "C5",
      "a public key with a coefficient that is not below 3329",
      { public_key: b64u(withCoefficient(xWingKey)) },
      xWing,
    ),
    answered("C18", "no suite in common: no other list is offered", "", {
      status: 400,
      content_type: "application/problem+json",
      body: problem(400, "no-common-suite"),
      expect: "refusal",
    }),
  ]
}
