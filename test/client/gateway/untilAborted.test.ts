/** Streams that the gateway's client follows. */
import { assert, describe, it } from "vitest"
import { GatewayClient } from "../../../src/client/gateway/GatewayClient.ts"
import { collectGarbage } from "../../support/garbage.ts"
import { failureOf } from "../../support/promises.ts"

const EVENT = new TextEncoder().encode("event: changed\ndata: {}\n\n")

/** A client whose gateway answers with this stream. */
const following = (source: UnderlyingDefaultSource<Uint8Array>) => {
  const body = new ReadableStream(source, { highWaterMark: 0 })
  const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } })
  return new GatewayClient({ baseUrl: "http://gateway.example", token: "x", fetch })
}

const used = async (): Promise<number> => {
  await collectGarbage()
  return process.memoryUsage().heapUsed
}

describe("a followed stream", () => {
  it("keeps none of the events that were read", async () => {
    const [from, to] = [2000, 22_000]
    const gateway = following({ pull: (controller) => controller.enqueue(EVENT) })
    let read = 0
    let before = 0
    let after = Infinity
    for await (const _ of gateway.changes({ signal: new AbortController().signal })) {
      if (++read === from) before = await used()
      if (read !== to) continue
      after = await used()
      break
    }
    assert.isBelow(after - before, 100 * (to - from))
  })

  it("ends with the reason of an abort, and cancels the answer", async () => {
    const abort = new AbortController()
    const reason = new Error("enough")
    const cancelled = Promise.withResolvers<void>()
    const changes = following({
      start: (controller) => controller.enqueue(EVENT),
      cancel: () => cancelled.resolve(),
    }).changes({ signal: abort.signal })
    assert.isFalse((await changes.next()).done)
    const next = failureOf(changes.next())
    abort.abort(reason)
    assert.strictEqual(await next, reason)
    await cancelled.promise
  })
})
