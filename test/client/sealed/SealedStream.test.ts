import { assert, beforeEach, describe, it } from "@effect/vitest"
import {
  AnswerIncomplete,
  SealedClient,
  type StreamPart,
  StreamTruncated,
  Tampered,
} from "../../../src/client/index.ts"
import { chatPayloads } from "../../../src/conformance/lyingProxy/answer.ts"
import { BREAK, type ReplyPiece, type WireEvent } from "../../../src/conformance/lyingProxy/Lie.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { failureOf } from "../../support/promises.ts"
import { FakeProxy, HANG, problem } from "../../support/protocol/FakeProxy.ts"
import { b64u } from "../../support/protocol/reference.ts"

let proxy: FakeProxy
beforeEach(() => {
  proxy = new FakeProxy()
})

/** Streams as four data frames: "one ", "two ", "three", and the finish reason. */
const PROMPT = { prompt: "one two three" }
const connect = () =>
  new SealedClient({ baseUrl: "https://proxy.test", pins: [proxy.identity.kid], fetch: proxy.fetch })

const textOf = (parts: ReadonlyArray<StreamPart>): string =>
  parts.map((part) => (part.type === "delta" ? (part.chunk.choices[0]?.delta.content ?? "") : "<restart>")).join("")

/** Reads a stream as far as it goes: what was shown, and what it threw. */
const read = async (signal?: AbortSignal) => {
  const shown: Array<StreamPart> = []
  try {
    const stream = await connect().stream(PROMPT, signal === undefined ? {} : { signal })
    try {
      for await (const part of stream) shown.push(part)
    } catch (error) {
      assert.strictEqual(await failureOf(stream.end), error)
      throw error
    }
    return { shown, end: await stream.end, error: undefined }
  } catch (error) {
    return { shown, end: undefined, error }
  }
}

const dataOf = (event: WireEvent | undefined): JsonObject => {
  if (typeof event?.data !== "object" || event.data === null) return assert.fail("an event without data")
  return { ...event.data }
}
const changed = (events: ReadonlyArray<WireEvent>, index: number, change: JsonObject): ReadonlyArray<WireEvent> =>
  events.map((event, i) => (i === index ? { ...event, data: { ...dataOf(event), ...change } } : event))

describe("a stream", () => {
  it("gives every verified delta as it comes, then its end", async () => {
    const { end, error, shown } = await read()
    assert.isUndefined(error)
    assert.strictEqual(textOf(shown), "one two three")
    assert.strictEqual(end?.completion.choices[0]?.message.content, "one two three")
    assert.strictEqual(end?.completion.choices[0]?.finish_reason, "stop")
    assert.strictEqual(end?.receipt.count, 4)
    assert.strictEqual(end?.proof.count, 5)
    assert.strictEqual(proxy.hungUp, 0)
  })

  it("starts over after a restart", async () => {
    const restart = { restart: { reason: "truncated", provider: "provider2", model: "m2" }, deltas: [] }
    const wrong = chatPayloads("stream", "wrong ").slice(0, 1)
    proxy.script = { payloads: [...wrong, restart, ...chatPayloads("stream", "right")] }
    const { end, shown } = await read()
    assert.strictEqual(textOf(shown), "wrong <restart>right")
    assert.deepStrictEqual(shown[1], { type: "restart", ...restart.restart })
    assert.strictEqual(end?.completion.choices[0]?.message.content, "right")

    proxy.hooks = { events: (events) => events.slice(0, 4) }
    const { error } = await read()
    assert.instanceOf(error, StreamTruncated)
    if (error instanceof StreamTruncated) assert.strictEqual(error.prefix.chunks.length, 1)
  })

  it("returns its text repeatedly, also after it was read", async () => {
    const stream = await connect().stream(PROMPT)
    assert.strictEqual((await Array.fromAsync(stream)).length, 4)
    assert.strictEqual(await stream.text(), "one two three")
    assert.strictEqual(await stream.text(), "one two three")
    const read = await connect().stream(PROMPT)
    assert.strictEqual(await read.text(), "one two three")
    assert.instanceOf(await failureOf(Array.fromAsync(read)), TypeError)
  })

  it("may have more than 256 frames", async () => {
    const prompt = Array.from({ length: 700 }, (_, index) => `${index} `).join("")
    const stream = await connect().stream({ prompt: `${prompt}end` })
    assert.strictEqual(await stream.text(), `${prompt}end`)
    const { proof, receipt } = await stream.end
    assert.deepStrictEqual([receipt.count, proof.count], [702, 703])
  })

  it("may consist of only its end", async () => {
    proxy.script = { payloads: [] }
    const { end, error } = await read()
    assert.isUndefined(error)
    assert.strictEqual(end?.receipt.count, 0)
    assert.deepStrictEqual(end?.completion.choices, [])
  })

  it("may lose its connection after its proof", async () => {
    proxy.hooks = { events: (events) => [...events, BREAK] }
    const { end, error } = await read()
    assert.isUndefined(error)
    assert.strictEqual(end?.receipt.status, "complete")
  })

  it.each(["failed", "aborted"] as const)(
    "that %s reports it, with the verified prefix and its receipt",
    async (status) => {
      proxy.script = { status, problem: { ...problem(502, "upstream-truncated"), title: "It broke off." } }
      const { error, shown } = await read()
      assert.strictEqual(textOf(shown), "one two three")
      if (!(error instanceof AnswerIncomplete)) return assert.fail(String(error))
      assert.strictEqual(error.status, status)
      assert.strictEqual(error.problem?.code, "upstream-truncated")
      assert.strictEqual(error.prefix.chunks.length, 4)
      assert.strictEqual(error.receipt.status, status)
      return undefined
    },
  )
})

describe("a stream that stops", () => {
  it.each([1, 2, 3, 4, 5, 6])("after %d events is truncated, whether its connection ends or breaks", async (count) => {
    const ends: ReadonlyArray<ReadonlyArray<ReplyPiece>> = [
      [],
      [BREAK],
      ["event: frame\ndata: {"],
      ["event: frame\n", BREAK],
    ]
    for (const end of ends) {
      proxy.hooks = { events: (events) => [...events.slice(0, count), ...end] }
      const { error, shown } = await read()
      if (!(error instanceof StreamTruncated)) return assert.fail(`${String(error)} after ${String(end)}`)
      assert.strictEqual(error.code, "stream-truncated")
      assert.instanceOf(error, Tampered)
      assert.strictEqual(error.prefix.chunks.length, Math.min(count - 1, 4))
      assert.strictEqual(shown.length, error.prefix.chunks.length)
    }
    return undefined
  })
})

/** Lies of which the parts before them are shown; the catalogue of the conformance kit has the others. */
describe("a stream returns no unverified part", () => {
  const frame = (event: WireEvent | undefined) => String(dataOf(event)["ciphertext"])

  it("is refused without quoting the event name that an attacker on the path wrote", async () => {
    const name = `frame\u001b]0;title\u0007${"x".repeat(100_000)}`
    proxy.hooks = { events: (events) => [...events.slice(0, 2), { event: name, data: {} }] }
    const { error } = await read()
    assert.instanceOf(error, Tampered)
    assert.strictEqual(error.message, "A frame event was due, but an unknown one came.")
  })

  it.each<readonly [string, (events: ReadonlyArray<WireEvent>) => ReadonlyArray<ReplyPiece>, number]>([
    // 0 open, 1 to 4 data frames, 5 final frame, 6 proof; last: how many parts may still be shown
    ["its nonce is changed", (events) => changed(events, 0, { response_nonce: b64u(Buffer.alloc(32)) }), 0],
    ["a frame is dropped", (events) => events.filter((_, i) => i !== 2), 1],
    [
      "a frame is altered",
      (events) => changed(events, 3, { ciphertext: frame(events[3]).replace(/^.{9}/, "AAAAAAAAA") }),
      2,
    ],
    ["an event is unknown", (events) => [...events.slice(0, 3), { event: "note", data: {} }, ...events.slice(3)], 2],
  ])("when %s", async (_, change, most) => {
    proxy.hooks = { events: change }
    const { error, shown } = await read()
    assert.instanceOf(error, Tampered)
    assert.isAtMost(shown.length, most)
  })

  it("if receipt and proof agree on a number of frames other than the number received", async () => {
    const more = { claims: (claims: JsonObject) => ({ ...claims, count: Number(claims["count"]) + 1 }) }
    proxy.hooks = { receipt: more, proof: more }
    assert.match(String((await read()).error), /counts other frames than those received/)
  })
})

describe("leaving a stream", () => {
  it("by its signal aborts pending reads, and hangs up", async () => {
    proxy.hooks = { events: (events) => [...events.slice(0, 3), HANG] }
    const controller = new AbortController()
    const stream = await connect().stream(PROMPT, { signal: controller.signal })
    const shown: Array<StreamPart> = []
    let thrown: unknown
    try {
      for await (const part of stream) {
        shown.push(part)
        if (shown.length === 2) setImmediate(() => controller.abort())
      }
    } catch (error) {
      thrown = error
    }
    assert.strictEqual(textOf(shown), "one two ")
    assert.strictEqual(thrown instanceof Error ? thrown.name : thrown, "AbortError")
    assert.isAtLeast(proxy.hungUp, 1)
    assert.strictEqual(await failureOf(stream.end), thrown)
  })

  it("at a time limit does not report tampering", async () => {
    proxy.hooks = { events: (events) => [...events.slice(0, 3), HANG] }
    const { error } = await read(AbortSignal.timeout(20))
    assert.strictEqual(error instanceof Error ? error.name : error, "TimeoutError")
  })

  it("before its end hangs up, and its end rejects", async () => {
    proxy.hooks = { events: (events) => [...events.slice(0, 3), HANG] }
    const stream = await connect().stream(PROMPT)
    for await (const _ of stream) break
    assert.strictEqual(proxy.hungUp, 1)
    assert.instanceOf(await failureOf(stream.end), Tampered)
  })

  it.each([
    ["an error", new Error("user left")],
    ["no error", "user left"],
  ])("with %s as the reason throws that reason", async (_, reason) => {
    for (const kept of [0, 3]) {
      const controller = new AbortController()
      proxy.hooks = {
        events: (events) => {
          setImmediate(() => controller.abort(reason))
          return [...events.slice(0, kept), HANG]
        },
      }
      assert.strictEqual((await read(controller.signal)).error, reason)
    }
  })

  it("and iterating it again throws a TypeError", async () => {
    const stream = await connect().stream(PROMPT)
    for await (const _ of stream) break
    const again = async () => {
      for await (const _ of stream) assert.fail("there was a part")
    }
    const error = await failureOf(again())
    assert.instanceOf(error, TypeError)
    assert.include(String(error), "once")
    assert.instanceOf(await failureOf(stream.text()), Tampered)

    proxy.hooks = { events: (events) => events.slice(0, 3) }
    const broken = await connect().stream(PROMPT)
    for (const expected of [StreamTruncated, TypeError]) {
      const error = await failureOf(Array.fromAsync(broken))
      assert.instanceOf(error, expected)
    }
  })

  it("before its first part hangs up, and its end rejects", async () => {
    proxy.hooks = { events: (events) => [...events.slice(0, 3), HANG] }
    const stream = await connect().stream(PROMPT)
    const outcome = failureOf(stream.end)
    assert.deepStrictEqual(await stream[Symbol.asyncIterator]().return(undefined), { done: true, value: undefined })
    assert.strictEqual(proxy.hungUp, 1)
    assert.instanceOf(await outcome, Tampered)
  })

  it("after an error hangs up", async () => {
    for (const at of [0, 1, 3]) {
      proxy = new FakeProxy()
      proxy.hooks = {
        events: (events) => [...events.slice(0, at), { event: "note", data: {} }, ...events.slice(at), HANG],
      }
      assert.instanceOf((await read()).error, Tampered)
      assert.strictEqual(proxy.hungUp, 1, `after ${at} events`)
    }
  })
})
