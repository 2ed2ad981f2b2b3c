/** What a recording of everything that crossed the wire is worth with one half of the session's private key: nothing. */
import { createHash } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { mlKemDecapsulate } from "../../src/services/sealing/nativeKeys.ts"
import { exchangeNamed, sessionOf, unhex } from "../support/protocol/published.ts"
import {
  aesOpen,
  bytes,
  frameNonce,
  hkdfExpand,
  hkdfExtract,
  publicKeyOf,
  responseKeys,
  text,
  x25519,
} from "../support/protocol/reference.ts"

// The recording is the published exchange, whose keys are known: so the two halves can be taken apart here.
const exchange = exchangeNamed("complete")
const session = sessionOf(exchange)
const { request, response } = exchange
const [enc, ciphertext] = [unhex(request.enc), unhex(request.ciphertext)]
const [encM, encX] = [enc.slice(0, 1088), enc.slice(1088)]
const halves = createHash("shake256", { outputLength: 96 }).update(unhex(session.private_key)).digest()
const [seedM, secretX] = [new Uint8Array(halves.subarray(0, 64)), halves.subarray(64)]
const publicX = publicKeyOf("X25519", secretX)
const sharedX = x25519(secretX, encX)

/** X-Wing's secret for what is taken for that of ML-KEM. */
const combined = (sharedM: Uint8Array): Buffer =>
  createHash("sha3-256").update(sharedM).update(sharedX).update(encX).update(publicX).update("\\.//^\\").digest()

/** Everything that HPKE (RFC 9180 §5.1) makes of a shared secret, in the suite of this KEM. */
const schedule = (kem: number, sharedSecret: Uint8Array) => {
  const suiteId = bytes(text("HPKE"), Buffer.of(kem >> 8, kem & 0xff, 0, 1, 0, 2))
  const empty = Buffer.alloc(0)
  const extract = (salt: Uint8Array, name: string, ikm: Uint8Array) =>
    hkdfExtract(salt, bytes(text("HPKE-v1"), suiteId, text(name), ikm))
  const expand = (prk: Uint8Array, name: string, info: Uint8Array, length: number) =>
    hkdfExpand(prk, bytes(Buffer.of(0, length), text("HPKE-v1"), suiteId, text(name), info), length)
  const hashes = [extract(empty, "psk_id_hash", empty), extract(empty, "info_hash", unhex(request.info))]
  const context = bytes(Buffer.of(0), ...hashes)
  const secret = extract(sharedSecret, "secret", empty)
  const exporter = expand(secret, "exp", context, 32)
  return {
    key: expand(secret, "key", context, 32),
    nonce: expand(secret, "base_nonce", context, 12),
    exported: expand(exporter, "sec", text("sealgate/v2 response\0"), 32),
  }
}

/** How many of the recorded ciphertexts open: the question and the frames of the answer. */
const opened = (kem: number, sharedSecret: Uint8Array): number => {
  const { exported, key, nonce } = schedule(kem, sharedSecret)
  const keys = responseKeys(exported, enc, unhex(response.response_nonce))
  const tries = [
    () => aesOpen(key, nonce, unhex(request.aad), Buffer.from(ciphertext)),
    ...response.frames.map(
      (frame) => () =>
        aesOpen(
          keys.key,
          frameNonce(keys.baseNonce, frame.index),
          unhex(frame.aad),
          Buffer.from(unhex(frame.ciphertext)),
        ),
    ),
  ]
  return tries.filter((attempt) => {
    try {
      return attempt().length > 0
    } catch {
      return false
    }
  }).length
}

const X_WING = 0x647a
const DHKEM = 0x20

it("a recording opens for whoever has both halves of the session's key", () => {
  assert.strictEqual(opened(X_WING, combined(mlKemDecapsulate(seedM, encM))), 1 + response.frames.length)
})

it("a recording and the X25519 private key alone open nothing", () => {
  assert.deepStrictEqual(Buffer.from(publicX), Buffer.from(unhex(session.public_key).slice(1184)))
  /** What a thief can put in the place of ML-KEM's secret: nothing, what they have, or what another key gives. */
  const guesses = [
    Buffer.alloc(0),
    Buffer.alloc(32),
    sharedX,
    Buffer.from(encM.slice(0, 32)),
    createHash("sha3-256").update(encM).digest(),
    mlKemDecapsulate(new Uint8Array(64), encM),
    mlKemDecapsulate(new Uint8Array(64).fill(7), encM),
  ]
  for (const guess of guesses) assert.strictEqual(opened(X_WING, combined(guess)), 0)
  // As if it had been sealed with X25519 alone (RFC 9180 §4.1), or with nothing between the agreement and the schedule.
  const suiteId = bytes(text("KEM"), Buffer.of(0, DHKEM))
  const prk = hkdfExtract(Buffer.alloc(0), bytes(text("HPKE-v1"), suiteId, text("eae_prk"), sharedX))
  const info = bytes(Buffer.of(0, 32), text("HPKE-v1"), suiteId, text("shared_secret"), encX, publicX)
  for (const secret of [hkdfExpand(prk, info, 32), sharedX]) {
    for (const kem of [DHKEM, X_WING]) assert.strictEqual(opened(kem, secret), 0)
  }
})
