import { assert, describe, it, vi } from "@effect/vitest"
import { exchangeNamed, sessionOf, unhex } from "../support/protocol/published.ts"
import { X25519 } from "../../src/domain/suites.ts"
import { hex } from "../support/protocol/reference.ts"

const exchange = exchangeNamed("stream")
const { request } = exchange

const sealed = async () => {
  const { hpkeSeal } = await import("../../src/client/primitives.ts")
  const [recipient, info, aad, block, seed] = [
    sessionOf(exchange).public_key,
    request.info,
    request.aad,
    request.block,
    "ephemeral_ikm" in request ? request.ephemeral_ikm : "",
  ].map(unhex)
  if (!recipient || !info || !aad || !block) return assert.fail("the vectors lack a value")
  const { ciphertext, enc, secret } = await hpkeSeal(X25519, recipient, info, aad, block, seed)
  return [enc, ciphertext, secret].map(hex)
}

describe("sealing gives the published bytes", () => {
  const expected = [request.enc, request.ciphertext, request.exported_secret]

  it("with the platform's X25519", async () => {
    assert.deepStrictEqual(await sealed(), expected)
  })

  it("with the portable one, where the platform has none", async () => {
    const generateKey = vi.spyOn(globalThis.crypto.subtle, "generateKey").mockRejectedValue(new Error("NotSupported"))
    const importKey = vi.spyOn(globalThis.crypto.subtle, "importKey")
    vi.resetModules()
    assert.deepStrictEqual(await sealed(), expected)
    assert.strictEqual(generateKey.mock.calls.length, 1)
    assert.notInclude(JSON.stringify(importKey.mock.calls.map(([, , algorithm]) => algorithm)), "X25519")
    vi.restoreAllMocks()
  })
})
