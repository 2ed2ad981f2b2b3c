import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Tampered } from "../../../src/client/index.ts"
import { keysByThumbprint, trustKeys, verifyStatement } from "../../../src/client/verification/trust.ts"
import { failureOf } from "../../support/promises.ts"
import { b64u, identityFrom, jws } from "../../support/protocol/reference.ts"

const identity = identityFrom(Buffer.alloc(32, 0x42))
const stranger = identityFrom(Buffer.alloc(32, 0x43))
const HEADER = { alg: "Ed25519", typ: "sealgate-receipt+jwt", kid: identity.kid }
const CLAIMS = { iss: identity.kid, iat: 1, anything: "goes" }
const trusted = await trustKeys({ pins: [identity.kid], keys: { keys: [identity.jwk, stranger.jwk] } })

describe("statements", () => {
  // The catalogue of the conformance kit has the other headers, claims and signatures.
  it.each<readonly [string, object]>([
    ["a kid that is a number", { ...HEADER, kid: 1 }],
    ["a kid of 31 bytes", { ...HEADER, kid: b64u(Buffer.alloc(31, 9)) }],
    ["a kid of 33 bytes", { ...HEADER, kid: b64u(Buffer.alloc(33, 9)) }],
    ["a kid that is not canonical", { ...HEADER, kid: `${"A".repeat(42)}B` }],
    ["a kid that moves the cursor", { ...HEADER, kid: `${identity.kid}\u001b[2K\r\u001b[32mgenuine\n` }],
  ])("whose header has %s are refused though the signature is right", async (_, header) => {
    assert.instanceOf(await failureOf(verifyStatement("receipt", jws(identity, header, CLAIMS), trusted)), Tampered)
  })
})

describe("trusted keys", () => {
  it("ignore keys of other kinds", async () => {
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" })
    const keys = await keysByThumbprint({
      keys: [other, null, "key", { kty: "OKP", crv: "X25519", x: "AA" }, identity.jwk],
    })
    assert.deepStrictEqual([...keys.keys()], [identity.kid])
  })
})
