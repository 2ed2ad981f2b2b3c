/** Every fault of the fake upstream has its effect on the wire, in every format. */
import { assert, describe, it } from "@effect/vitest"
import { createConnection } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { parseJson } from "../../src/domain/json/json.ts"
import { type Break, FakeUpstream, fault, type WireName } from "../support/FakeUpstream.ts"
import { call } from "../support/fake-upstream/RawCaller.ts"

const WIRES: ReadonlyArray<WireName> = ["openai", "anthropic", "gemini"]

/** A measurable but short pause. */
const PAUSE_MS = 60
/** Timers may fire this much early. */
const EARLY_MS = 2

const answer = (breaks?: Break) => ({
  text: ["one", "two", "three"],
  ...(breaks === undefined ? {} : { delivery: { breaks } }),
})

const FINISHED: Readonly<Record<WireName, RegExp>> = {
  openai: /"finish_reason":"stop"/,
  anthropic: /"stop_reason":"end_turn"/,
  gemini: /"finishReason":"STOP"/,
}

const SENTINEL: Readonly<Record<WireName, RegExp>> = {
  openai: /data: \[DONE\]\n\n$/,
  anthropic: /event: message_stop\n.*\n\n$/,
  gemini: /"finishReason":"STOP".*\r\n\r\n$/,
}

const dataLines = (text: string): ReadonlyArray<string> =>
  text.split(/\r?\n/).flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []))

const isJson = (text: string): boolean => parseJson(text) !== undefined

describe.each(WIRES)("faults of the fake upstream as %s", (wire) => {
  it("answers whole without a fault", async () => {
    await using fake = await FakeUpstream.start()
    fake.always(answer())
    const streamed = call(fake.url, wire)
    assert.strictEqual((await streamed.over).over, "complete")
    assert.match(streamed.text(), FINISHED[wire])
    assert.match(streamed.text(), SENTINEL[wire])
    assert.match(String(streamed.heard.headers["content-type"]), /^text\/event-stream/)
    const whole = call(fake.url, wire, { stream: false })
    assert.strictEqual((await whole.over).over, "complete")
    assert.match(whole.text(), FINISHED[wire])
    assert.match(String(whole.heard.headers["content-type"]), /^application\/json/)
    assert.strictEqual(await fake.requests[0]?.ended, "answered")
  })

  it("resets the connection before headers", async () => {
    await using fake = await FakeUpstream.start()
    fake.script(fault.reset)
    const heard = await call(fake.url, wire).over
    assert.deepStrictEqual([heard.over, heard.errorCode, heard.status], ["broken", "ECONNRESET", undefined])
    assert.strictEqual(await fake.requests[0]?.ended, "broken")
  })

  it("stays silent until the caller hangs up", async () => {
    await using fake = await FakeUpstream.start()
    fake.script(fault.silence)
    const silent = call(fake.url, wire)
    const request = await fake.received(1)
    await delay(PAUSE_MS)
    assert.deepStrictEqual([silent.heard.status, silent.heard.over, request.ending], [undefined, undefined, undefined])
    silent.hangUp()
    assert.strictEqual(await request.ended, "hung-up")
    assert.isAtLeast((request.endedAt ?? 0) - request.at, PAUSE_MS - EARLY_MS)
  })

  it.each([true, false])("delays headers, first chunk and the chunks after it (stream: %s)", async (stream) => {
    await using fake = await FakeUpstream.start()
    const delivery = { headersAfter: PAUSE_MS, firstChunkAfter: PAUSE_MS, gap: PAUSE_MS }
    fake.script({ text: ["one", "two"], delivery })
    const late = call(fake.url, wire, { stream })
    await late.until(() => late.text().includes("one"))
    const firstAt = performance.now()
    await late.over
    const { at } = await fake.received(1)
    const headersAt = late.heard.headersAt ?? 0
    // Measured from the sender's start: a late reader must not shorten the next pause.
    assert.isAtLeast(headersAt - at, PAUSE_MS - EARLY_MS)
    assert.isAtLeast(firstAt - at, 2 * (PAUSE_MS - EARLY_MS))
    if (stream) assert.isAtLeast(performance.now() - at, 3 * (PAUSE_MS - EARLY_MS))
    if (stream && wire !== "gemini") assert.notInclude(String(late.heard.pieces[0]), "one")
  })

  it("keeps the connection alive while the first chunk is late", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: ["one"], delivery: { firstChunkAfter: PAUSE_MS, pings: 3 } })
    const pinged = call(fake.url, wire)
    assert.strictEqual((await pinged.over).over, "complete")
    assert.lengthOf(pinged.text().match(/^(: ping|event: ping)\r?$/gm) ?? [], 3)
    const before = pinged.text().split("one")[0]
    assert.match(before ?? "", /ping/)
  })

  it.each([true, false])("falls silent in the middle (stream: %s)", async (stream) => {
    await using fake = await FakeUpstream.start()
    fake.script(answer({ after: 2, how: "silence" }))
    const silent = call(fake.url, wire, { stream })
    await silent.until(() => (stream ? silent.text().includes("two") : silent.text() !== ""))
    await delay(PAUSE_MS)
    assert.isUndefined(silent.heard.over)
    if (stream) assert.notInclude(silent.text(), "three")
    else assert.isFalse(isJson(silent.text()))
    silent.hangUp()
    assert.strictEqual(await fake.requests[0]?.ended, "hung-up")
  })

  it.each(["cut", "reset"] as const)("breaks off in the middle: %s", async (how) => {
    await using fake = await FakeUpstream.start()
    fake.always(answer({ after: 2, how }))
    for (const stream of [true, false]) {
      const broken = call(fake.url, wire, { stream })
      const heard = await broken.over
      assert.deepStrictEqual([heard.over, heard.errorCode], ["broken", "ECONNRESET"])
      if (how === "cut") assert.strictEqual(heard.status, 200)
      if (how === "cut" && stream) assert.include(broken.text(), "two")
      assert.notInclude(stream ? broken.text() : "", "three")
      assert.isFalse(isJson(broken.text()))
      assert.strictEqual(await fake.requests.at(-1)?.ended, "broken")
    }
  })

  it("ends properly without a finish", async () => {
    await using fake = await FakeUpstream.start()
    fake.always(answer({ after: 2, how: "end" }))
    const ended = call(fake.url, wire)
    assert.strictEqual((await ended.over).over, "complete")
    assert.include(ended.text(), "two")
    assert.notInclude(ended.text(), "three")
    assert.notMatch(ended.text(), FINISHED[wire])
    assert.strictEqual(await fake.requests[0]?.ended, "answered")
    const whole = call(fake.url, wire, { stream: false })
    assert.strictEqual((await whole.over).over, "complete")
    assert.isFalse(isJson(whole.text()))
  })

  it("breaks before the first chunk, and behind the last one but before the finish", async () => {
    await using fake = await FakeUpstream.start()
    fake.script(answer({ after: 0, how: "cut" }), answer({ after: 99, how: "cut" }))
    fake.script({ text: "", delivery: { breaks: { after: 0, how: "end" } } })
    const first = call(fake.url, wire)
    assert.strictEqual((await first.over).status, 200)
    assert.notInclude(first.text(), "one")
    const last = call(fake.url, wire)
    await last.over
    assert.include(last.text(), "three")
    assert.notMatch(last.text(), FINISHED[wire])
    const empty = call(fake.url, wire)
    await empty.over
    assert.notMatch(empty.text(), FINISHED[wire])
  })

  it("inserts a chunk that is not JSON", async () => {
    await using fake = await FakeUpstream.start()
    fake.always(answer({ after: 1, how: "garbage" }))
    const streamed = call(fake.url, wire)
    assert.strictEqual((await streamed.over).over, "complete")
    const bad = dataLines(streamed.text()).filter((data) => data !== "[DONE]" && !isJson(data))
    assert.lengthOf(bad, 1)
    assert.match(streamed.text(), FINISHED[wire])
    const whole = call(fake.url, wire, { stream: false })
    assert.strictEqual((await whole.over).over, "complete")
    assert.isFalse(isJson(whole.text()))
  })

  it("omits the sentinel, with and without an end", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "Hi", delivery: { sentinel: "missing" } }, { text: "Hi", delivery: { sentinel: "never" } })
    const missing = call(fake.url, wire)
    assert.strictEqual((await missing.over).over, "complete")
    assert.match(missing.text(), FINISHED[wire])
    if (wire !== "gemini") assert.notMatch(missing.text(), SENTINEL[wire])
    const never = call(fake.url, wire)
    await never.until(() => FINISHED[wire].test(never.text()))
    await delay(PAUSE_MS)
    assert.isUndefined(never.heard.over)
    never.hangUp()
    assert.strictEqual(await fake.requests[1]?.ended, "hung-up")
  })

  it.each([true, false])("floods up to a bound, or until the caller hangs up (stream: %s)", async (stream) => {
    await using fake = await FakeUpstream.start()
    const bytes = 2 ** 20
    fake.script(answer({ after: 1, how: "flood", bytes }), answer({ after: 1, how: "flood" }))
    const bounded = call(fake.url, wire, { stream })
    assert.strictEqual((await bounded.over).over, "broken")
    assert.isAtLeast(bounded.text().length, bytes)
    const endless = call(fake.url, wire, { stream })
    await endless.until((heard) => heard.pieces.reduce((sum, piece) => sum + piece.length, 0) > 2 * bytes)
    endless.hangUp()
    assert.strictEqual(await fake.requests[1]?.ended, "hung-up")
  })

  it.each([true, false])("sends one oversized chunk (stream: %s)", async (stream) => {
    await using fake = await FakeUpstream.start()
    const bytes = 2 ** 20
    fake.script(answer({ after: 1, how: "oversized", bytes }))
    const oversized = call(fake.url, wire, { stream })
    assert.strictEqual((await oversized.over).over, "complete")
    assert.isAtLeast(oversized.text().length, bytes)
    if (stream) assert.isAtLeast(Math.max(...dataLines(oversized.text()).map((line) => line.length)), bytes)
    else assert.isTrue(isJson(oversized.text()))
  })

  it("claims another content type", async () => {
    await using fake = await FakeUpstream.start()
    fake.always({ text: "Hi", delivery: { contentType: "text/html" } })
    assert.strictEqual((await call(fake.url, wire).over).headers["content-type"], "text/html")
    assert.strictEqual((await call(fake.url, wire, { stream: false }).over).headers["content-type"], "text/html")
  })

  it("answers with any status, headers and body, or without HTTP", async () => {
    await using fake = await FakeUpstream.start()
    const date = new Date("2031-01-02T03:04:05Z")
    fake.script(
      fault.status(418, { headers: { "x-tea": "yes", "content-type": "text/plain" }, body: "short and stout" }),
      fault.status(502, { body: { error: { message: "bad gateway" } } }),
      fault.rateLimited({ retryAfter: date }),
      fault.rateLimited({ retryAfter: "soon" }),
      fault.raw("SSH-2.0-OpenSSH_9.9\r\n"),
    )
    const teapot = call(fake.url, wire)
    const { headers, status } = await teapot.over
    assert.deepStrictEqual([status, headers["x-tea"], teapot.text()], [418, "yes", "short and stout"])
    const gateway = call(fake.url, wire)
    await gateway.over
    assert.strictEqual(gateway.text(), '{"error":{"message":"bad gateway"}}')
    assert.strictEqual((await call(fake.url, wire).over).headers["retry-after"], "Thu, 02 Jan 2031 03:04:05 GMT")
    assert.strictEqual((await call(fake.url, wire).over).headers["retry-after"], "soon")
    assert.match((await call(fake.url, wire).over).errorCode ?? "", /^HPE_/)
    assert.deepStrictEqual(
      fake.requests.map((request) => request.status),
      [418, 502, 429, 429, undefined],
    )
  })
})

/** Whether the peer ended the TCP connection by FIN or RST, which HTTP clients do not distinguish. */
const tcpEnd = (url: string): Promise<"fin" | "rst"> => {
  const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] })
  const socket = createConnection(Number(new URL(url).port), "127.0.0.1")
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: fake\r\nauthorization: Bearer k\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  socket.resume()
  return new Promise((resolve) => {
    socket.once("end", () => resolve("fin"))
    socket.once("error", () => resolve("rst"))
  })
}

describe("beneath HTTP", () => {
  it("a cut is a FIN and a reset is a RST", async () => {
    await using fake = await FakeUpstream.start()
    fake.script(answer({ after: 1, how: "cut" }), answer({ after: 1, how: "reset" }), fault.reset)
    assert.strictEqual(await tcpEnd(fake.url), "fin")
    assert.strictEqual(await tcpEnd(fake.url), "rst")
    assert.strictEqual(await tcpEnd(fake.url), "rst")
  })

  it("https fails, because there is no TLS", async () => {
    await using fake = await FakeUpstream.start()
    const error = await fetch(`${fake.url.replace("http:", "https:")}/v1/chat/completions`, { method: "POST" }).then(
      () => undefined,
      (error: Error) => error.cause,
    )
    assert.match(String(error), /SSL|TLS/i)
    assert.lengthOf(fake.requests, 0)
  })
})
