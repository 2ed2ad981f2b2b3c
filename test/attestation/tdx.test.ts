/** TDX and dstack evidence from real machines, at a time when its collateral was current. */
import { assert, describe, it } from "@effect/vitest"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { checkEventLog } from "../../src/attestation/tdx/dstack.ts"
import { readQuote } from "../../src/attestation/tdx/quote.ts"
import { codeOf } from "./support/codeOf.ts"
import { QUOTE, QUOTE_BODY, sample, tdxCheck, tdxCollateral, textOf } from "./support/samples.ts"
import { verifyQuote, verifyTdx } from "../../src/attestation/tdx/verify.ts"

// Mistakes in generated evidence are in `refusals/`.
describe("TDX", () => {
  it("verifies a v4 quote with its collateral until the earliest end", () => {
    const check = tdxCheck(QUOTE)
    const { hardware, measurement, validUntil } = verifyQuote(check, tdxCollateral())
    assert.strictEqual(hardware, "Intel TDX")
    assert.strictEqual(measurement, QUOTE_BODY.mrtd)
    assert.isAtMost(validUntil, Date.parse("2025-07-19T10:16:03Z") / 1000)
    assert.isAbove(validUntil, check.now)
  })

  it("reads a v5 quote", () => assert.strictEqual(readQuote(sample("tdx-v5.quote")).body.serviceTd?.length, 48))

  it("refuses a debug guest", () => {
    const check = tdxCheck(sample("tdx-v4-debug.quote"))
    assert.strictEqual(
      codeOf(() => verifyQuote(check, tdxCollateral())),
      "debug-enabled",
    )
  })

  it("refuses a genuine quote that carries another binding", () => {
    const check = { ...tdxCheck(QUOTE), binding: new Uint8Array(32) }
    assert.strictEqual(
      codeOf(() => verifyTdx(check, tdxCollateral())),
      "binding-differs",
    )
  })
})

describe("dstack", () => {
  const dstack: { readonly quote: string; readonly event_log: string } = JSON.parse(textOf("dstack-quote-report.json"))
  const rtmr = readQuote(Buffer.from(dstack.quote, "hex")).body.rtmr[3]
  const check = (log: string) =>
    codeOf(() => checkEventLog(utf8(JSON.stringify({ event_log: log, app_compose: "" })), rtmr))

  it("replays a real log up to its compose file, which is not sampled", () => {
    assert.strictEqual(check(dstack.event_log), "dstack-compose-hash")
  })
  it("refuses a log that is not JSON", () => assert.strictEqual(check("["), "dstack-event-log"))
})
