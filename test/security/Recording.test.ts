/** A recording of the whole traffic is worthless with only one half of the session's private key. */
import { createHash } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { mlKemDecapsulate } from "../../src/services/sealing/nativeKeys.ts"
import { exchangeNamed, sessionOf, unhex } from "../support/protocol/published.ts"
import {
  aesOpen,
  dhkem,
  frameNonce,
  KEM,
  publicKeyOf,
  responseKeys,
  schedule,
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

/** How many of the recorded ciphertexts open: the question and the frames of the answer. */
const opened = (kem: number, sharedSecret: Uint8Array): number => {
  const { exported, key, nonce } = schedule(kem, sharedSecret, unhex(request.info))
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

it("a recording can be opened with both halves of the session's key", () => {
  assert.strictEqual(
    opened(KEM["MLKEM768-X25519"], combined(mlKemDecapsulate(seedM, encM))),
    1 + response.frames.length,
  )
})

it("a recording and the X25519 private key alone open nothing", () => {
  assert.deepStrictEqual(Buffer.from(publicX), Buffer.from(unhex(session.public_key).slice(1184)))
  /** Substitutes for ML-KEM's secret that a thief could try: nothing, a known value, or another key's secret. */
  const guesses = [
    Buffer.alloc(0),
    Buffer.alloc(32),
    sharedX,
    Buffer.from(encM.slice(0, 32)),
    createHash("sha3-256").update(encM).digest(),
    mlKemDecapsulate(new Uint8Array(64), encM),
    mlKemDecapsulate(new Uint8Array(64).fill(7), encM),
  ]
  for (const guess of guesses) assert.strictEqual(opened(KEM["MLKEM768-X25519"], combined(guess)), 0)
  // As if sealed with X25519 alone (RFC 9180 §4.1), or with nothing between the agreement and the schedule.
  for (const secret of [dhkem(sharedX, encX, publicX).sharedSecret, sharedX]) {
    for (const kem of Object.values(KEM)) assert.strictEqual(opened(kem, secret), 0)
  }
})
