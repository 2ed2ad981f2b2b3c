import { assert, describe, it } from "@effect/vitest"
import { rateLimitFields } from "../../src/http/shared/rateLimitFields.ts"
import { RateLimited } from "../../src/services/access/RateLimits.ts"

describe("rateLimitFields", () => {
  it("writes structured fields, with times rounded up", () => {
    const counted = [
      ["read-per-address", { limit: 600, remaining: 599, resetAfterMs: 1 }],
      ["read-per-tenant", new RateLimited({ limit: 60, retryAfterMs: 1001 })],
    ] as const
    assert.deepStrictEqual(rateLimitFields(counted), {
      "ratelimit-policy": '"read-per-address";q=600;w=60, "read-per-tenant";q=60;w=60',
      ratelimit: '"read-per-address";r=599;t=1, "read-per-tenant";r=0;t=2',
    })
  })

  it("omits policies without a limit", () => {
    assert.deepStrictEqual(
      rateLimitFields([["read-per-tenant", { limit: 0, remaining: Infinity, resetAfterMs: 0 }]]),
      {},
    )
  })
})
