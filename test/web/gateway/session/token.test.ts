import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ownerOf } from "../../../../src/web/gateway/session/token.ts"
import { moment } from "../../../../src/web/shared/format.ts"
import { tokenFor } from "../../../support/gateway.ts"

const base64Url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const unsigned = (claims: unknown): string => `${base64Url({ alg: "HS256" })}.${base64Url(claims)}.c2ln`

describe("tokens", () => {
  it.effect("name the same owner as for the gateway", () =>
    Effect.gen(function* () {
      const own = ownerOf(yield* tokenFor("alice"))
      assert.deepInclude(own, { subject: "alice", tenant: "alice", roles: [], admin: false })
      const ops = ownerOf(yield* tokenFor("Zoë 👩", { tenant: "acme", roles: ["admin", "ops"] }))
      assert.deepInclude(ops, { subject: "Zoë 👩", tenant: "acme", roles: ["admin", "ops"], admin: true })
      assert.deepInclude(ownerOf(unsigned({ sub: "acme", exp: 1 })), { subject: "acme", tenant: undefined })
      const mayOf = (...roles: ReadonlyArray<string>) => {
        const owner = ownerOf(unsigned({ sub: "a", exp: 1, roles }))
        return [owner?.runs, owner?.changes, owner?.manages, owner?.admin]
      }
      assert.deepStrictEqual(mayOf("read"), [false, false, false, false])
      assert.deepStrictEqual(mayOf("run"), [true, false, false, false])
      assert.deepStrictEqual(mayOf("ops"), [false, false, false, false])
      const unclaimed = ownerOf(unsigned({ sub: "a", exp: 1 }))
      assert.deepStrictEqual([unclaimed?.runs, unclaimed?.changes, unclaimed?.manages], [true, true, false])
      assert.deepStrictEqual(mayOf("manage"), [true, true, true, false])
    }),
  )

  it("have an expiry in milliseconds", () => {
    assert.strictEqual(ownerOf(unsigned({ sub: "a", exp: 1_700_000_000 }))?.expires, 1_700_000_000_000)
  })

  it("have an expiry clamped to the range of Date", () => {
    const expiry = (exp: number) => moment(ownerOf(unsigned({ sub: "a", exp }))?.expires ?? Number.NaN)
    assert.deepStrictEqual([9_999_999_999_999, Number.MAX_VALUE, -Number.MAX_VALUE, 0].map(expiry), [
      "+275760-09-13 00:00 UTC",
      "+275760-09-13 00:00 UTC",
      "-271821-04-20 00:00 UTC",
      "1970-01-01 00:00 UTC",
    ])
  })

  it("are rejected if a part is missing, unreadable or lacks claims", () => {
    const broken = [
      "",
      "a.b",
      "a.b.c.d",
      "a.!!!.c",
      "a.gIA.c",
      unsigned("text"),
      unsigned({ sub: "a" }),
      unsigned({ exp: 1 }),
    ]
    for (const text of [...broken, unsigned({ sub: "a", exp: 1, roles: "admin" })])
      assert.isUndefined(ownerOf(text), text)
  })
})
