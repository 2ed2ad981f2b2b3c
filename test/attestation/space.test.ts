/** A token from a real machine of Confidential Space, which ran a debug image, under Google's root. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { PINNED_ROOTS } from "../../src/attestation/roots.ts"
import { readToken } from "../../src/attestation/space/token.ts"
import { verifyAttestation } from "../../src/attestation/verifyAttestation.ts"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { codeOf } from "./support/codeOf.ts"
import { space } from "./support/space.ts"

const TOKEN = utf8(readFileSync("test/attestation/samples/space-debug.jwt", "utf8").trim())
const AT = Date.parse("2025-06-23T15:00:00Z") / 1000
const ROOT = PINNED_ROOTS.confidentialSpace

describe("Confidential Space", () => {
  it("reads a real token under the pinned root", () => {
    const { claims, until } = readToken(TOKEN, ROOT, AT)
    assert.strictEqual(claims["dbgstat"], "enabled")
    assert.strictEqual(claims["hwmodel"], "GCP_AMD_SEV")
    assert.isAbove(until, AT)
  })
  it("refuses a real token after its leaf expired", () => {
    assert.strictEqual(
      codeOf(() => readToken(TOKEN, ROOT, AT + 90 * 86_400)),
      "chain-validity",
    )
  })
  it("refuses a real token as evidence, because its nonce binds nothing", () => {
    const check = space({ afterwards: () => Buffer.from(TOKEN).toString() })
    const roots = { ...check.roots, confidentialSpace: ROOT }
    const policy = { ...check.policy, expires: AT + 1 }
    assert.strictEqual(
      codeOf(() => verifyAttestation({ ...check, roots, policy, now: AT })),
      "binding-differs",
    )
  })
})
