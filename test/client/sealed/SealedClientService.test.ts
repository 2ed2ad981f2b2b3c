import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { SealedClientService } from "../../../src/client/effect.ts"
import { NoPins, StreamTruncated } from "../../../src/client/index.ts"
import { FakeProxy, HANG } from "../../support/protocol/FakeProxy.ts"

const PROMPT = { prompt: "one two three" }

const layerFor = (proxy: FakeProxy) =>
  SealedClientService.layer({ baseUrl: "https://proxy.test", pins: [proxy.identity.kid], fetch: proxy.fetch })

describe("the client as a service", () => {
  it.effect("completes", () => {
    const proxy = new FakeProxy()
    return Effect.gen(function* () {
      const client = yield* SealedClientService
      const { completion } = yield* client.complete(PROMPT)
      assert.strictEqual(completion.choices[0]?.message.content, "one two three")
    }).pipe(Effect.provide(layerFor(proxy)))
  })

  it.effect("streams the parts, then the verified end", () => {
    const proxy = new FakeProxy()
    return Effect.gen(function* () {
      const client = yield* SealedClientService
      const elements = yield* Stream.runCollect(client.stream(PROMPT))
      assert.deepStrictEqual(
        elements.map(({ type }) => type),
        ["delta", "delta", "delta", "delta", "end"],
      )
      const last = elements.at(-1)
      assert.strictEqual(last?.type === "end" ? last.end.receipt.status : undefined, "complete")
    }).pipe(Effect.provide(layerFor(proxy)))
  })

  it.effect("asks any API, whole and streamed", () => {
    const proxy = new FakeProxy()
    return Effect.gen(function* () {
      const client = yield* SealedClientService
      proxy.script = { payloads: [{ type: "message", stop_reason: "end_turn" }], finishReasons: ["end_turn"] }
      const { answer } = yield* client.request("messages", { messages: [] })
      assert.deepStrictEqual(answer, { type: "message", stop_reason: "end_turn" })
      proxy.script = { payloads: [{ deltas: [{ type: "message_start" }, { type: "message_stop" }] }] }
      const elements = yield* Stream.runCollect(client.requestStream("messages", { messages: [] }))
      assert.deepStrictEqual(
        elements.map((element) => (element.type === "delta" ? element.chunk["type"] : element.type)),
        ["message_start", "message_stop", "end"],
      )
      const { payload } = proxy.opened.at(-1) ?? {}
      assert.deepInclude(payload, { api: "messages", restart: false, body: { messages: [], stream: true } })
    }).pipe(Effect.provide(layerFor(proxy)))
  })

  it.effect("fails with the client's own errors", () => {
    const proxy = new FakeProxy()
    proxy.hooks = { events: (events) => events.slice(0, 3) }
    return Effect.gen(function* () {
      const client = yield* SealedClientService
      const error = yield* Effect.flip(Stream.runDrain(client.stream(PROMPT)))
      assert.instanceOf(error.reason, StreamTruncated)

      const unpinned = yield* Effect.flip(
        Effect.provide(
          Effect.flatMap(SealedClientService, (client) => client.complete(PROMPT)),
          SealedClientService.layer({ baseUrl: "https://proxy.test", fetch: proxy.fetch }),
        ),
      )
      assert.instanceOf(unpinned.reason, NoPins)
      assert.strictEqual(unpinned.message, unpinned.reason.message)
    }).pipe(Effect.provide(layerFor(proxy)))
  })

  it.live("hangs up when it is interrupted", () => {
    const proxy = new FakeProxy()
    proxy.hooks = { events: (events) => [...events.slice(0, 3), HANG] }
    return Effect.gen(function* () {
      const client = yield* SealedClientService
      const begun = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Stream.runForEach(client.stream(PROMPT), () => Deferred.succeed(begun, undefined)),
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.isAtLeast(proxy.hungUp, 1)
    }).pipe(Effect.provide(layerFor(proxy)))
  })
})
