import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { NoPins, PinMismatch, Tampered, thumbprint } from "../../../src/client/index.ts"
import { keysByThumbprint, trustKeys, verifyStatement } from "../../../src/client/verification/trust.ts"
import { assembleStatement, signingInput, statementHeader } from "../../../src/domain/protocol/statement.ts"
import { failureOf } from "../../support/promises.ts"
import { b64u, fromB64u, identityFrom, jws, statement, text } from "../../support/protocol/reference.ts"

const identity = identityFrom(Buffer.alloc(32, 0x42))
const stranger = identityFrom(Buffer.alloc(32, 0x43))
const HEADER = { alg: "Ed25519", typ: "sealgate-receipt+jwt", kid: identity.kid }
const CLAIMS = { iss: identity.kid, iat: 1, anything: "goes" }
const trusted = await trustKeys({ pins: [identity.kid], keys: { keys: [identity.jwk, stranger.jwk] } })

const verify = (text: string, kind: "session" | "receipt" | "proof" = "receipt") =>
  verifyStatement(kind, text, trusted).then(
    (claims) => claims,
    (error: unknown) => error,
  )

describe("statements", () => {
  const kind = fc.constantFrom("session" as const, "receipt" as const, "proof" as const)
  const good = jws(identity, HEADER, CLAIMS)

  it("verify with any claims", async () => {
    await fc.assert(
      fc.asyncProperty(kind, fc.dictionary(fc.string(), fc.jsonValue()), async (kind, members) => {
        const claims = { version: 2, ...members, iss: identity.kid }
        const { statement: signed } = statement(identity, kind, claims)
        const verified = await verify(signed, kind)
        assert.deepStrictEqual<unknown>(verified, JSON.parse(JSON.stringify(claims)))
      }),
      { numRuns: 50 },
    )
  })

  it("of the product equal the reference's", () => {
    const claims = {
      iss: identity.kid,
      version: 2,
      iat: 1,
      session_id: "s",
      request_hash: "h",
      root: "r",
      count: 1,
      status: "failed",
    } as const
    const input = signingInput(statementHeader("proof", identity.kid), claims)
    const { signingInput: expected, statement: whole } = statement(identity, "proof", claims)
    assert.strictEqual(input, expected)
    assert.strictEqual(assembleStatement(input, fromB64u(whole.split(".")[2] ?? "")), whole)
  })

  it("with any byte changed are refused", async () => {
    const bytes = text(good)
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (index, change) => {
        const altered = Buffer.from(bytes)
        altered[index] = (altered[index] ?? 0) ^ change
        assert.instanceOf(await verify(altered.toString("latin1")), Error)
      }),
      { numRuns: 500 },
    )
  })

  it("cut or lengthened anywhere are refused", async () => {
    for (const altered of [
      "",
      ".",
      "..",
      "...",
      good.slice(0, -1),
      good.slice(1),
      `${good}A`,
      `${good}=`,
      `${good}.`,
      `${good}.${good}`,
      `.${good}`,
      ` ${good}`,
      `${good}\n`,
      good.replaceAll(".", ".."),
      good.split(".").slice(0, 2).join("."),
      `${good.split(".").slice(0, 2).join(".")}.`,
    ]) {
      assert.instanceOf(await verify(altered), Tampered, altered)
    }
  })

  // The catalogue of the conformance kit has the other headers, claims and signatures.
  it.each<readonly [string, object]>([
    ["JWT for a typ", { ...HEADER, typ: "JWT" }],
    ["the algorithm in lower case", { ...HEADER, alg: "ed25519" }],
    ["a kid that is a number", { ...HEADER, kid: 1 }],
    ["a kid of 31 bytes", { ...HEADER, kid: b64u(Buffer.alloc(31, 9)) }],
    ["a kid of 33 bytes", { ...HEADER, kid: b64u(Buffer.alloc(33, 9)) }],
    ["a kid that is not canonical", { ...HEADER, kid: `${"A".repeat(42)}B` }],
    ["a kid that moves the cursor", { ...HEADER, kid: `${identity.kid}\u001b[2K\r\u001b[32mgenuine\n` }],
    ["no members", {}],
  ])("whose header has %s are refused though the signature is right", async (_, header) => {
    assert.instanceOf(await verify(jws(identity, header, CLAIMS)), Tampered)
  })

  it.each([null, 5, "text"])("whose claims are %s are refused", async (claims) => {
    assert.instanceOf(await verify(jws(identity, HEADER, claims)), Tampered)
  })

  it("of an unpinned key are refused with its kid", async () => {
    const error = await verify(jws(stranger, { ...HEADER, kid: stranger.kid }, { iss: stranger.kid }))
    assert.instanceOf(error, PinMismatch)
    if (error instanceof PinMismatch) {
      assert.deepStrictEqual(error.pins, [identity.kid])
      assert.strictEqual(error.kid, stranger.kid)
    }
  })
})

describe("trusted keys", () => {
  it("are identified by thumbprint, not by the set's kid", async () => {
    const keys = await keysByThumbprint({ keys: [{ ...stranger.jwk, kid: identity.kid }] })
    assert.deepStrictEqual([...keys.keys()], [stranger.kid])
    assert.strictEqual(await thumbprint(new Uint8Array(identity.publicKey)), identity.kid)
  })

  it("are the pinned ones, and there must be pins", async () => {
    assert.deepStrictEqual([...trusted.keys()], [identity.kid])
    const error = await failureOf(trustKeys({ pins: [], keys: { keys: [identity.jwk] } }))
    assert.instanceOf(error, NoPins)
  })

  it("ignore keys of other kinds", async () => {
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" })
    const keys = await keysByThumbprint({
      keys: [other, null, "key", { kty: "OKP", crv: "X25519", x: "AA" }, identity.jwk],
    })
    assert.deepStrictEqual([...keys.keys()], [identity.kid])
  })

  it("must come from a well-formed key set", async () => {
    for (const set of [undefined, null, [], {}, { keys: {} }, { keys: [{ kty: "OKP", crv: "Ed25519", x: "AA" }] }]) {
      assert.instanceOf(await failureOf(keysByThumbprint(set)), Tampered)
    }
  })
})
