import * as crypto from "node:crypto"
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { FakeProxy } from "../../support/protocol/FakeProxy.ts"
import { exchangeNamed, sessionOf, unhex } from "../../support/protocol/published.ts"
import { X25519 } from "../../../src/domain/protocol/suites.ts"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import { frameAad, frameNonce } from "../../../src/domain/protocol/transcript.ts"
import { hex } from "../../support/protocol/reference.ts"

const exchange = exchangeNamed("stream")
const { request } = exchange

const sealed = async () => {
  const { hpkeSeal } = await import("../../../src/client/crypto/hpke.ts")
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

/** Runs as outside of Node, with WebCrypto only. */
const withoutNode = () => {
  vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined)
  vi.resetModules()
}

/** Runs as on a Node with BoringSSL or an OpenSSL before 3.5, which have no ML-KEM. */
const withoutMlKem = () => {
  const builtinModule = process.getBuiltinModule
  const createPublicKey = (key: crypto.PublicKeyInput & { readonly key: Buffer }) => {
    if (key.key.length > 1000) throw new Error("error:1E08010C:DECODER routines::unsupported")
    return crypto.createPublicKey(key)
  }
  vi.spyOn(process, "getBuiltinModule").mockImplementation((name: string) =>
    name === "node:crypto" ? { ...crypto, createPublicKey } : builtinModule(name),
  )
  vi.resetModules()
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.resetModules()
})

describe("sealing gives the published bytes", () => {
  const expected = [request.enc, request.ciphertext, request.exported_secret]

  it("on Node's own crypto", async () => {
    assert.deepStrictEqual(await sealed(), expected)
  })

  it("on WebCrypto", async () => {
    withoutNode()
    assert.deepStrictEqual(await sealed(), expected)
  })
})

/** A client that seals with ML-KEM, loaded anew. */
const postQuantumClient = async () => {
  const { fetch, identity } = new FakeProxy()
  const { SealedClient } = await import("../../../src/client/sealed/SealedClient.ts")
  const suites = ["MLKEM768-X25519"] as const
  return new SealedClient({ baseUrl: "https://proxy.test", pins: [identity.kid], fetch, suites })
}

describe("sealing with portable ML-KEM", () => {
  it("works on a Node whose library lacks it", async () => {
    withoutMlKem()
    const client = await postQuantumClient()
    const { completion } = await client.complete({ prompt: "Hello there" })
    assert.strictEqual(completion.choices[0]?.message.content, "Hello there")
  })

  it("reports code that could not be loaded, not tampering, and tries again", async () => {
    withoutNode()
    const client = await postQuantumClient()
    vi.doMock("@hpke/hybridkem-x-wing", () => Promise.reject(new TypeError("Failed to fetch")))
    const error: unknown = await client.complete({ prompt: "Hello there" }).catch((error: unknown) => error)
    assert.deepInclude(Object(error), { code: "unreachable", mayHaveBeenServed: false })
    assert.include(String(error), "The code that seals with MLKEM768-X25519 could not be loaded.")
    vi.doUnmock("@hpke/hybridkem-x-wing")
    const { completion } = await client.complete({ prompt: "Hello there" })
    assert.strictEqual(completion.choices[0]?.message.content, "Hello there")
  })
})

describe.each([
  ["Node's own crypto", () => vi.resetModules()],
  ["WebCrypto", withoutNode],
])("with %s", (_, prepare) => {
  it("the response keys equal the published ones, and open only what was sealed with them", async () => {
    prepare()
    const { deriveResponseKeys, hmac, sha256 } = await import("../../../src/client/crypto/primitives.ts")
    const { response } = exchange
    const [secret, enc, nonce] = [request.exported_secret, request.enc, response.response_nonce].map(unhex)
    if (!secret || !enc || !nonce) return assert.fail("the vectors lack a value")
    const keys = await deriveResponseKeys(secret, enc, nonce)
    assert.deepStrictEqual([keys.baseNonce, keys.commitKey, keys.credentialKey].map(hex), [
      response.base_nonce,
      response.commit_key,
      response.credential_key,
    ])
    const [first] = response.frames
    if (first === undefined) return assert.fail("the vectors lack a frame")
    const requestHash = unhex(request.request_hash)
    const aad = frameAad("stream", 0, first.final, requestHash)
    const ciphertext = unhex(first.ciphertext)
    const block = await keys.open(frameNonce(keys.baseNonce, 0), aad, ciphertext)
    assert.include(Buffer.from(block ?? []).toString(), first.payload)
    for (const [i, byte] of [...ciphertext.entries()].filter(([i]) => i % 97 === 0 || i > ciphertext.length - 3)) {
      const changed = ciphertext.with(i, byte ^ 1)
      assert.isUndefined(await keys.open(frameNonce(keys.baseNonce, 0), aad, new Uint8Array(changed)))
    }
    for (const length of [0, 1, 15, 16]) {
      assert.isUndefined(await keys.open(frameNonce(keys.baseNonce, 0), aad, ciphertext.slice(0, length)))
    }
    assert.isUndefined(await keys.open(frameNonce(keys.baseNonce, 1), aad, ciphertext))
    // RFC 4231, test case 2, and FIPS 180-4's "abc".
    assert.strictEqual(
      hex(await hmac(utf8("Jefe"), [utf8("what do ya want "), utf8("for nothing?")])),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    )
    assert.strictEqual(
      hex(await sha256(utf8("abc"))),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    )
  })
})
