import { createHash, randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { Agent } from "undici"
import type { Bytes } from "../../../src/domain/bytes/bytes.ts"
import { releaseBytes } from "../../../src/domain/bytes/releaseBytes.ts"
import { send } from "../../../src/services/upstream/HttpExchange.ts"
import { listening } from "../../support/listening.ts"

/** More than the buffers of two sockets take. */
const LENGTH = 32 * 1024 * 1024

const aBody = (): Bytes => {
  const bytes = new Uint8Array(new ArrayBuffer(LENGTH))
  bytes.set(randomBytes(1024), LENGTH - 1024)
  return bytes
}

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")

/** A server that reports a request and reads none of its body, and an agent to call it. */
const asked = Effect.gen(function* () {
  const { promise, resolve } = Promise.withResolvers<readonly [IncomingMessage, ServerResponse]>()
  const port = yield* listening(createServer((request, response) => resolve([request, response])))
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent()),
    (agent) => Effect.promise(() => agent.destroy()),
  )
  const url = `http://127.0.0.1:${port}/`
  return { url, agent, request: Effect.promise(() => promise) }
})

describe("a large body", () => {
  it.live("is sent unchanged, and stays lent until it is written", () =>
    Effect.gen(function* () {
      const { agent, request, url } = yield* asked
      const body = aBody()
      const hash = hashOf(body)
      const answer = yield* Effect.forkScoped(send(agent, { url, headers: {}, body }))
      const [incoming, outgoing] = yield* request
      releaseBytes(body)
      assert.lengthOf(body, LENGTH)
      const received = createHash("sha256")
      yield* Effect.promise(async () => {
        for await (const piece of incoming) received.update(piece)
      })
      assert.strictEqual(received.digest("hex"), hash)
      assert.strictEqual(incoming.headers["content-length"], `${LENGTH}`)
      assert.isUndefined(incoming.headers["transfer-encoding"])
      outgoing.end()
      assert.strictEqual((yield* Fiber.join(answer)).status, 200)
      releaseBytes(body)
      assert.lengthOf(body, 0)
    }),
  )

  it.live("stays lent while it is written, even if the call is interrupted", () =>
    Effect.gen(function* () {
      const { agent, request, url } = yield* asked
      const body = aBody()
      const scope = yield* Scope.make()
      const sending = send(agent, { url, headers: {}, body })
      yield* Effect.forkScoped(Scope.provide(sending, scope))
      yield* request
      yield* Scope.close(scope, Exit.void)
      releaseBytes(body)
      assert.lengthOf(body, LENGTH)
    }),
  )
})
