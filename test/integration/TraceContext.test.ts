/** Trace contexts that providers receive without a collector: that of a job's caller, or none. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { TraceContext } from "../../src/domain/operations/traceContext.ts"
import { sqlite } from "../support/databases.ts"
import { type Fake, FakeUpstream } from "../support/FakeUpstream.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { behind, startProxy } from "../support/proxy.ts"

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const PARENT = "b7ad6b7169203331"
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`

type Headers = Readonly<Record<string, string>>

/** Trace headers that the provider received, by call. */
const toldOf = (fake: Fake) =>
  fake.requests.map(({ headers }) => [headers["traceparent"], headers["tracestate"], headers["b3"]])

interface Case {
  readonly what: string
  readonly sent: Headers
  readonly told: readonly [traceparent: string | undefined, tracestate: string | undefined]
}

const CASES: ReadonlyArray<Case> = [
  {
    what: "the caller's trace, unchanged",
    sent: { traceparent: TRACEPARENT, tracestate: "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE" },
    told: [TRACEPARENT, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"],
  },
  {
    what: "the caller's decision not to sample",
    sent: { traceparent: `00-${TRACE}-${PARENT}-00` },
    told: [`00-${TRACE}-${PARENT}-00`, undefined],
  },
  {
    what: "the known part of a trace context of a later version",
    sent: { traceparent: `cc-${TRACE}-${PARENT}-01-what-will-be`, tracestate: "rojo=1" },
    told: [TRACEPARENT, "rojo=1"],
  },
  { what: "no trace if the caller sends none", sent: {}, told: [undefined, undefined] },
  {
    what: "no trace if the caller's is invalid",
    sent: { traceparent: `00-${TRACE}-0000000000000000-01`, tracestate: "rojo=1" },
    told: [undefined, undefined],
  },
]

/** Returns the trace headers at a provider, given headers outside the seal and `trace` under it. */
const toldByProxy = Effect.fnUntraced(function* (sent: Headers, traceHeaders: boolean, trace?: TraceContext) {
  const fake = yield* FakeUpstream.make()
  const proxy = yield* startProxy({ settings: { ...behind(fake), traceHeaders } })
  const client = proxy.client({
    fetch: (url, init) => fetch(url, { ...init, headers: [...new Headers(init?.headers), ...Object.entries(sent)] }),
  })
  yield* Effect.promise(async () => {
    const options = trace === undefined ? {} : { trace }
    await client.complete({ prompt: "hello" }, options)
    await (await client.stream({ prompt: "hello" }, options)).text()
  })
  return toldOf(fake)
})

describe("without a collector", () => {
  it.live("the proxy passes no trace from outside the seal to a provider", () =>
    Effect.gen(function* () {
      const sent = { traceparent: TRACEPARENT, tracestate: "rojo=1", b3: `${TRACE}-${PARENT}-1` }
      const nothing = [undefined, undefined, undefined]
      for (const traceHeaders of [false, true]) {
        assert.deepStrictEqual(yield* toldByProxy(sent, traceHeaders), [nothing, nothing])
      }
    }),
  )

  it.live("the proxy passes the trace under the seal to a provider if its operator enables it", () =>
    Effect.gen(function* () {
      const outside = { traceparent: `00-${"1".repeat(32)}-${PARENT}-01`, tracestate: "outside=1" }
      const trace = { traceparent: TRACEPARENT, tracestate: "rojo=1" }
      const nothing = [undefined, undefined, undefined]
      const inside = [TRACEPARENT, "rojo=1", undefined]
      assert.deepStrictEqual(yield* toldByProxy(outside, true, trace), [inside, inside])
      assert.deepStrictEqual(yield* toldByProxy(outside, false, trace), [nothing, nothing])
      for (const traceparent of ["", "00-0-0-00", `${TRACEPARENT}-more`]) {
        assert.deepStrictEqual(yield* toldByProxy(outside, true, { traceparent }), [nothing, nothing])
      }
    }),
  )

  it.live("a job belongs to its caller's trace, not to the one in which an embedding program started the gateway", () =>
    Effect.gen(function* () {
      const gateway = yield* Effect.withSpan(startGateway(yield* databaseUrl(sqlite)), "start")
      const token = yield* tokenFor("alice")
      const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a" } })
      const headers = { traceparent: TRACEPARENT }
      const execute = `/api/v1/agents/${agent["id"]}/execute`
      const { json: job } = yield* call(gateway, "POST", execute, { token, headers, body: { task: "x" } })
      assert.strictEqual(job["trace_id"], TRACE)
    }),
  )

  for (const { sent, told, what } of CASES) {
    it.live(`a job passes to a provider ${what}`, () =>
      Effect.gen(function* () {
        const fake = yield* FakeUpstream.make()
        const gateway = yield* startGateway(yield* databaseUrl(sqlite), {}, fake)
        const token = yield* tokenFor("alice")
        const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a" } })
        const { json: made } = yield* call(gateway, "POST", `/api/v1/agents/${agent["id"]}/execute`, {
          token,
          headers: sent,
          body: { task: "x", mode: "verified" },
        })
        const { json: job } = yield* call(gateway, "GET", `/api/v1/jobs/${made["id"]}?wait=30`, { token })
        assert.strictEqual(job["status"], "completed")
        assert.isAbove(fake.requests.length, 1)
        assert.deepStrictEqual(
          toldOf(fake),
          fake.requests.map(() => [...told, undefined]),
        )
        // The log still has an id to search for.
        const traceId = String(job["trace_id"])
        if (told[0] === undefined) assert.match(traceId, /^(?!0{32})[0-9a-f]{32}$/)
        else assert.strictEqual(traceId, TRACE)
        const refused = yield* call(gateway, "GET", "/api/v1/jobs/nothing", { token, headers: sent })
        if (told[0] !== undefined) assert.strictEqual(problemIn(refused).trace_id, TRACE)
      }),
    )
  }
})
