/** Connections over real sockets: they end with the call, and serve the next one where they can. */
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import type { ServerResponse } from "node:http"
import { VENDOR_NAMES } from "./support/Canned.ts"
import { eventFixture } from "./support/fixtures.ts"
import { client, live, serve } from "./support/LiveServer.ts"
import { REQUEST } from "./support/raw.ts"

const startStream = (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  return response
}

/**
 * Waits until the client has read what the server of this process has sent. The system has it already; a sleep could end,
 * on a busy machine, before the event loop reads it.
 */
const arrivedHere = Effect.promise(async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
})

/** Keeps a broken product from hanging the test. */
const soon = Effect.timeout("10 seconds")

layer(client, { excludeTestServices: true })((it) => {
  for (const vendor of VENDOR_NAMES) {
    const recorded = eventFixture(`${vendor}-stream`)

    describe(vendor, () => {
      it.effect("closes after a finished stream whose socket stays open", () =>
        Effect.gen(function* () {
          const server = yield* serve((_, response) => void startStream(response).write(recorded.join("")))
          const provider = yield* live(vendor, server.url)
          yield* soon(Stream.runDrain(provider.stream(REQUEST)))
          assert.strictEqual(server.open(), 1, "the stream did not wait for its connection")
          yield* soon(server.closed)
        }),
      )

      it.effect("serves the next call after a finished response that ended", () =>
        Effect.gen(function* () {
          let ended = yield* Deferred.make<void>()
          const server = yield* serve((_, response) => {
            startStream(response).write(recorded.join(""))
            response.once("close", () => Deferred.doneUnsafe(ended, Effect.void))
            setTimeout(() => response.end(), 5)
          })
          const provider = yield* live(vendor, server.url)
          for (let call = 0; call < 3; call++) {
            yield* soon(Stream.runDrain(provider.stream(REQUEST)))
            yield* soon(Deferred.await(ended))
            ended = yield* Deferred.make<void>()
            yield* arrivedHere
          }
          assert.strictEqual(server.connections(), 1)
        }),
      )

      it.effect("closes after a refused response", () =>
        Effect.gen(function* () {
          const server = yield* serve((_, response) => {
            response.writeHead(200, { "content-type": "text/html" }).write("<html>")
          })
          const provider = yield* live(vendor, server.url)
          assert.strictEqual((yield* soon(Effect.flip(provider.complete(REQUEST)))).kind, "garbage")
          yield* soon(server.closed)
        }),
      )
    })
  }
})
