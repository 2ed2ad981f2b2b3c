import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Tampered } from "../../../src/client/index.ts"
import {
  MAX_EVENT_LENGTH,
  type ServerSentEvent,
  serverSentEvents,
} from "../../../src/client/sealed/serverSentEvents.ts"

const bodyOf = (pieces: ReadonlyArray<Uint8Array>): ReadableStream<Uint8Array> => {
  const left = [...pieces]
  return new ReadableStream({
    pull: (controller) => {
      const next = left.shift()
      if (next === undefined) controller.close()
      else controller.enqueue(next)
    },
  })
}

const read = async (...pieces: ReadonlyArray<string | Uint8Array>): Promise<ReadonlyArray<ServerSentEvent>> => {
  const events: Array<ServerSentEvent> = []
  const bytes = pieces.map((piece) => (typeof piece === "string" ? new TextEncoder().encode(piece) : piece))
  for await (const event of serverSentEvents(bodyOf(bytes))) events.push(event)
  return events
}

const message = (data: string, event = "message"): ServerSentEvent => ({ event, data })

describe("server-sent events", () => {
  it.each<readonly [string, string, ReadonlyArray<ServerSentEvent>]>([
    ["name and data", "event: a\ndata: b\n\n", [message("b", "a")]],
    ["no space after the colon", "event:a\ndata:b\n\n", [message("b", "a")]],
    ["only one space is removed", "data:  b\n\n", [message(" b")]],
    ["several lines of data", "data: a\ndata: b\ndata:\n\n", [message("a\nb\n")]],
    ["names do not last", "event: a\ndata: 1\n\ndata: 2\n\n", [message("1", "a"), message("2")]],
    ["comments", ": one\n:two\n\ndata: a\n: three\n\n", [message("a")]],
    ["an event without data", "event: a\n\ndata: b\n\n", [message("b")]],
    ["other fields", "id: 1\nretry: 2\nfoo: 3\ndata: a\n\n", [message("a")]],
    ["CRLF", "event: a\r\ndata: b\r\n\r\n", [message("b", "a")]],
    ["CR", "event: a\rdata: b\r\rdata: c\r\r:\n", [message("b", "a"), message("c")]],
    ["an unfinished event at the end", "data: a\n\ndata: b\n", [message("a")]],
    ["a byte order mark", "\uFEFFdata: a\n\n", [message("a")]],
    ["nothing", "", []],
  ])("%s", async (_, text, expected) => {
    assert.deepStrictEqual(await read(text), expected)
  })

  it("do not depend on where the bytes are cut", async () => {
    const line = fc.constantFrom("data: ä\u{1F44B}", "data", "data:x", "event: frame", ": c", "", "", "id: 1")
    const ending = fc.constantFrom("\n", "\r\n", "\r")
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(line, ending)),
        fc.array(fc.nat(200), { maxLength: 20 }),
        async (lines, cuts) => {
          const bytes = new TextEncoder().encode(`${lines.flat().join("")}:\n`)
          const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
          const pieces = at.slice(1).map((end, i) => bytes.subarray(at[i], end))
          assert.deepStrictEqual(await read(...pieces), await read(bytes))
        },
      ),
      { numRuns: 300 },
    )
  })

  const MIB = 1024 * 1024
  const TOO_MANY = MAX_EVENT_LENGTH / MIB + 1

  it("have a maximum size each", async () => {
    const piece = new Uint8Array(MIB).fill(0x61)
    const endless = Array.from({ length: TOO_MANY }, () => piece)
    for (const start of ["data: ", ": ", "data: a\ndata: "]) {
      const error = await read(start, ...endless).catch((error: unknown) => error)
      assert.instanceOf(error, Tampered)
    }
    const manyLines = Array.from({ length: TOO_MANY }, () => `data: ${"a".repeat(MIB)}\n`)
    assert.instanceOf(await read(...manyLines).catch((error: unknown) => error), Tampered)
  })

  it("may exceed that size together", async () => {
    const event = `data: ${"a".repeat(MIB)}\n\n`
    const events = await read(...Array.from({ length: TOO_MANY }, () => event))
    assert.lengthOf(events, TOO_MANY)
  })

  it("are read in linear time, however small the pieces of a line", async () => {
    const pieces = Array.from({ length: 4096 }, () => "a".repeat(1024))
    const [event] = await read("data: ", ...pieces, "\n\n")
    assert.strictEqual(event?.data.length, 4096 * 1024)
  })

  it("hang up when the reader stops", async () => {
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("data: a\n\n")),
      cancel: () => {
        cancelled = true
      },
    })
    for await (const _ of serverSentEvents(body)) break
    assert.isTrue(cancelled)
  })
})
