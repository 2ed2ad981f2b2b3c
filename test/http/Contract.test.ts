import { assert, it } from "@effect/vitest"
import { type Effect, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { Draining, TooLarge } from "../../src/api/problems.ts"
import { Refusal } from "../../src/domain/problems/refusal.ts"

const endpoint = HttpApiEndpoint.get("get", "/", { success: Schema.String, error: TooLarge })

/** Whether a handler of the endpoint that fails with this refusal compiles. */
type MayRefuse<E> =
  (() => Effect.Effect<string, E>) extends HttpApiEndpoint.Handler<typeof endpoint, never, never> ? true : false

it("a handler may fail only with refusals that its contract declares", () => {
  const declared: MayRefuse<TooLarge> = true
  const undeclared: MayRefuse<Draining> = false
  assert.deepStrictEqual([declared, undeclared], [true, false])
})

class Late extends Refusal<Late>()("Late", { code: "late", status: 409, title: "It is late.", retryable: true }) {}

it("a refusal encodes to its problem document without its headers", () => {
  const problem = {
    type: "urn:sealgate:problem:late",
    title: "It is late.",
    status: 409,
    code: "late",
    retryable: true,
  } as const
  const late = new Late({ detail: "By an hour.", headers: { etag: '"1"' } })
  assert.deepStrictEqual(late.problem, { ...problem, detail: "By an hour." })
  assert.deepStrictEqual(Schema.encodeSync(Late)(late), { ...problem, detail: "By an hour." })
  assert.deepStrictEqual(late.headers, { etag: '"1"' })
  assert.deepStrictEqual(new Late().headers, { "retry-after": "1" })
  assert.deepStrictEqual(new Draining().problem.detail, new Draining().message)
  assert.instanceOf(Schema.decodeUnknownSync(Late)({ ...problem, trace_id: "t" }), Late)
  assert.throws(() => Schema.decodeUnknownSync(Late)({ ...problem, type: "urn:sealgate:problem:early" }))
})
