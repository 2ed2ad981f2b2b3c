import { assert, describe, it } from "@effect/vitest"
import { mustBeTimely, mustFit } from "../../../src/client/verification/agreement.ts"
import { Tampered } from "../../../src/client/errors.ts"
import type { ReceiptClaims } from "../../../src/domain/protocol/statement.ts"
import { exchangeNamed } from "../../support/protocol/published.ts"
import type { ProvenExchange } from "../../../src/client/verification/provenAnswer.ts"

// The file is our own: its claims have the shapes that the protocol gives them.
const RECEIPT = exchangeNamed("stream").response.receipt_claims as unknown as ReceiptClaims

/** A stream that failed after it had begun anew, of a request with these members. */
const restarted = (request: object): ProvenExchange => ({
  request: { request_id: "id", issued_at: 1, body: { stream: true }, ...request },
  receipt: {
    ...RECEIPT,
    jti: "id",
    status: "failed",
    provider: "provider2",
    model: "m",
    finish_reasons: [],
    usage: null,
    received_at: 1,
  },
  responses: [{ restart: { reason: "truncated", provider: "provider2", model: "m" }, deltas: [] }],
})

describe("the times of a statement", () => {
  it("may differ from those of the exchange by as much as two clocks may differ, and no more", () => {
    mustBeTimely(1000, 1060, 0)
    mustBeTimely(1000, 1062, 2000)
    for (const [issuedAt, elapsed] of [
      [1061, 0],
      [1062, 1999],
    ] as const) {
      assert.throws(() => mustBeTimely(1000, issuedAt, elapsed), Tampered, /contradict the exchange/)
    }
  })
})

describe("an answer that starts over", () => {
  it.each([
    ["chat.completions", undefined],
    ["chat.completions", true],
    ["messages", true],
    ["responses", true],
  ])("is accepted for a request of %s with restart %s", (api, restart) => {
    mustFit(restarted({ api, ...(restart === undefined ? {} : { restart }) }))
  })

  it.each([
    ["chat.completions", false],
    ["messages", undefined],
    ["messages", false],
    ["responses", undefined],
  ])("is refused for a request of %s with restart %s", (api, restart) => {
    const exchange = restarted({ api, ...(restart === undefined ? {} : { restart }) })
    assert.throws(() => mustFit(exchange), Tampered, /starts over/)
  })
})
