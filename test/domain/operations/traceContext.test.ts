/** W3C Trace Context: parsing a caller's headers, passing them on, and storing them with a job. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Option, Tracer } from "effect"
import { callerSpan, storedSpan, storeTrace, traceContextOf } from "../../../src/domain/operations/traceContext.ts"

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const PARENT = "b7ad6b7169203331"
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`

/** The trace context passed on for a caller's headers. */
const passed = (traceparent: string, tracestate?: string) => {
  const span = callerSpan(traceparent, tracestate)
  return span === undefined ? undefined : traceContextOf(span)
}

describe("traceparent", () => {
  for (const [what, header, expected] of [
    ["sampled", TRACEPARENT, TRACEPARENT],
    ["not sampled", `00-${TRACE}-${PARENT}-00`, `00-${TRACE}-${PARENT}-00`],
    ["a flag beside that of sampling", `00-${TRACE}-${PARENT}-03`, TRACEPARENT],
    ["other flags alone", `00-${TRACE}-${PARENT}-fe`, `00-${TRACE}-${PARENT}-00`],
    ["a later version", `01-${TRACE}-${PARENT}-01`, TRACEPARENT],
    ["a later version with more behind it", `fe-${TRACE}-${PARENT}-01-more-of-it`, TRACEPARENT],
  ] as const) {
    it(`is accepted: ${what}`, () => assert.strictEqual(passed(header)?.traceparent, expected))
  }

  for (const [what, header] of [
    ["nothing", ""],
    ["the forbidden version", `ff-${TRACE}-${PARENT}-01`],
    ["more than this version has", `${TRACEPARENT}-more`],
    ["a later version that goes on without a dash", `01-${TRACE}-${PARENT}-01more`],
    ["no trace", `00-${"0".repeat(32)}-${PARENT}-01`],
    ["no span", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["capital letters", TRACEPARENT.toUpperCase()],
    ["no flags", TRACEPARENT.slice(0, -3)],
    ["two of them", `${TRACEPARENT}, ${TRACEPARENT}`],
  ] as const) {
    it(`is ignored: ${what}`, () => assert.isUndefined(passed(header, "rojo=1")))
  }
})

describe("tracestate", () => {
  const members = (count: number, value = "1") => Array.from({ length: count }, (_, i) => `k${i}=${value}`).join(",")
  const long = (length: number) => `${members(2, "v".repeat(200))},last=`.padEnd(length, "v")

  for (const [what, header, expected] of [
    ["its order", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"],
    ["a key of many tenants, a value with spaces in it", "fw529a3039@dt=a b", "fw529a3039@dt=a b"],
    ["white space and empty members aside", " rojo=1 ,\t, congo=2,", "rojo=1,congo=2"],
    ["32 members", members(32), members(32)],
    ["512 characters", long(512), long(512)],
  ] as const) {
    it(`is passed on: ${what}`, () => assert.strictEqual(passed(TRACEPARENT, header)?.tracestate, expected))
  }

  for (const [what, header] of [
    ["nothing in it", " , "],
    ["33 members", members(33)],
    ["513 characters", long(513)],
    ["no value", "rojo=1,congo"],
    ["an empty value", "rojo="],
    ["a value with =", "rojo=1=2"],
    ["a capital letter in a key", "Rojo=1"],
    ["what is not ASCII", "rojo=é"],
    ["a control character", "rojo=a\tb"],
  ] as const) {
    it(`is dropped without its traceparent: ${what}`, () =>
      assert.deepStrictEqual(passed(TRACEPARENT, header), { traceparent: TRACEPARENT, tracestate: undefined }))
  }
})

/** A span in `parent` that is not exported. */
const nowhere = (parent?: Tracer.AnySpan) =>
  new Tracer.NativeSpan({
    name: "nowhere",
    parent: Option.fromUndefinedOr(parent),
    annotations: Context.empty(),
    links: [],
    startTime: 0n,
    kind: "internal",
    sampled: true,
  })

describe("the trace context stored with a job", () => {
  it("is the caller's, with its tracestate", () => {
    const caller = callerSpan(TRACEPARENT, "rojo=a b,congo=2")
    const stored = storedSpan(storeTrace(nowhere(nowhere(caller))))
    assert.deepStrictEqual(traceContextOf(stored), { traceparent: TRACEPARENT, tracestate: "rojo=a b,congo=2" })
    assert.deepStrictEqual(traceContextOf(nowhere(stored)), traceContextOf(stored))
  })

  it("has only a trace id, which is not passed on, without a caller's", () => {
    const span = nowhere()
    const stored = storedSpan(storeTrace(span))
    assert.strictEqual(stored.traceId, span.traceId)
    assert.isUndefined(traceContextOf(stored))
    assert.isUndefined(traceContextOf(nowhere(stored)))
  })

  it("may be a traceparent only, as earlier versions stored it", () => {
    assert.deepStrictEqual(traceContextOf(storedSpan(TRACEPARENT)), { traceparent: TRACEPARENT, tracestate: undefined })
  })
})
