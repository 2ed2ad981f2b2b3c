import { createPublicKey, verify } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { ProofClaims } from "../../../src/domain/protocol/statement.ts"
import { Attestation } from "../../../src/services/sealing/Attestation.ts"
import { KeyVault } from "../../../src/services/sealing/KeyVault.ts"
import * as reference from "../../support/protocol/reference.ts"

const SEED = Buffer.alloc(32, 9)
const IDENTITY = reference.identityFrom(SEED)

const CLAIMS: Omit<ProofClaims, "iss" | "version"> = {
  iat: 1,
  session_id: "AAAAAAAAAAAAAAAAAAAAAA",
  request_hash: reference.b64u(Buffer.alloc(32, 1)),
  root: reference.b64u(Buffer.alloc(32, 2)),
  count: 3,
}

const VAULTS = [
  ["plain", KeyVault.layerPlain],
  ["the best available", KeyVault.layer],
] as const

describe.each(VAULTS)("attestation with %s key storage", (_, vault) => {
  const layer = Attestation.layerFromSeed(Effect.sync(() => new Uint8Array(SEED))).pipe(Layer.provide(vault))

  it.effect("signs exactly the reference's statement", () =>
    Effect.gen(function* () {
      const attestation = yield* Attestation
      const statement = attestation.sign("proof", CLAIMS)
      assert.strictEqual(statement, reference.statement(IDENTITY, "proof", { ...CLAIMS }).statement)

      const [header, claims, signature] = statement.split(".").map(reference.fromB64u)
      assert.strictEqual(header?.toString(), `{"alg":"Ed25519","typ":"sealgate-proof+jwt","kid":"${IDENTITY.kid}"}`)
      assert.deepStrictEqual(JSON.parse(claims?.toString() ?? ""), { iss: IDENTITY.kid, version: 2, ...CLAIMS })
      const key = createPublicKey({ key: { ...attestation.jwk }, format: "jwk" })
      const signed = Buffer.from(statement.slice(0, statement.lastIndexOf(".")))
      assert.isTrue(verify(null, signed, key, signature ?? Buffer.alloc(0)))
    }).pipe(Effect.provide(layer)),
  )

  it.effect("overwrites the seed that it was given", () =>
    Effect.gen(function* () {
      const seed = new Uint8Array(SEED)
      const { kid } = yield* Effect.provide(
        Attestation,
        Layer.provide(Attestation.layerFromSeed(Effect.succeed(seed)), vault),
      )
      assert.strictEqual(kid, IDENTITY.kid)
      assert.deepStrictEqual(seed, new Uint8Array(32))
    }),
  )
})
