/** The proxy, with the keys and the clock of the published vectors, is sent what must be refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { encodeBase64Url } from "../../../src/domain/bytes/bytes.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { refusalOf } from "../../../src/http/proxy/SealedHandlers.ts"
import { X25519 } from "../../../src/domain/protocol/suites.ts"
import { SealedCompletions } from "../../../src/services/sealing/SealedCompletions.ts"
import type { Envelope } from "../../../src/services/sealing/RequestOpener.ts"
import { Sessions } from "../../../src/services/sealing/Sessions.ts"
import { startProxy } from "../../support/proxy.ts"
import { negatives, published, unhex } from "../../support/protocol/published.ts"
import * as reference from "../../support/protocol/reference.ts"
import {
  collect,
  layerFixedKey,
  layerSealing,
  openAnswer,
  type ReferenceRequest,
} from "../../support/protocol/Sealing.ts"

type Asked = (typeof negatives.requests)[number]

const session = published.sessions.X25519
const numbered = negatives.requests.map((asked, index) => ({ ...asked, index }))

/** Refusals for the shape alone, for any session. */
const SHAPELESS = new Set(["malformed", "unsupported-media-type", "no-common-suite"])
const isOuter = ({ code = "", path }: Asked): boolean => path === "/v1/init" || SHAPELESS.has(code)

describe("over HTTP", () => {
  const outer = numbered.filter(isOuter)

  it.live.each(outer)("$index $rules: $why: $status", ({ body, body_hex, code, content_type, path, status }) =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const [answered, answer] = yield* Effect.promise(async () => {
        const response = await fetch(proxy.url + path, {
          method: "POST",
          headers: { "content-type": content_type },
          body: body_hex === undefined ? (body ?? "") : unhex(body_hex),
        })
        return [response, (await response.json()) as Record<string, unknown>] as const
      })
      assert.strictEqual(answered.status, status)
      assert.strictEqual(answered.headers.get("cache-control"), "no-store")
      const type = answered.headers.get("content-type") ?? ""
      assert.match(type, code === undefined ? /^application\/json/ : /^application\/problem\+json/)
      assert.strictEqual(answer["code"], code)
      if (code === undefined) assert.deepStrictEqual(Object.keys(answer), ["attestation", "keys"])
    }),
  )
})

describe("in a session", () => {
  const inner = numbered.filter((asked) => !isOuter(asked))
  const SESSION_ID_BYTES = 16
  let nonces = 0
  const random = (size: number) =>
    size === SESSION_ID_BYTES ? unhex(session.session_id) : new Uint8Array(size).fill(++nonces)

  const layer = layerSealing({
    seed: unhex(published.identity.seed),
    vault: layerFixedKey(X25519, unhex(session.private_key)),
    random,
    sessions: { maxRequestBytes: Number(session.claims["max_request_bytes"]) },
  }).pipe(Layer.provide(Upstream.layerEcho))

  /** Answers a body, or refuses it. */
  const send = Effect.fnUntraced(function* (body: string) {
    const completions = yield* SealedCompletions
    // The bodies are our own, and in the shape that the HTTP layer lets through.
    const answered = yield* Effect.exit(Effect.mapError(completions.handle(JSON.parse(body) as Envelope), refusalOf))
    if (Exit.isFailure(answered)) return Exit.failCause(answered.cause)
    const collecting = yield* Effect.forkScoped(collect(answered.value), { startImmediately: true })
    for (let tick = 0; tick < 4; tick++) yield* TestClock.adjust(100)
    return yield* Effect.exit(Fiber.join(collecting))
  }, Effect.scoped)

  it.effect.each(inner)("$index $rules: $why: $status $code", (asked) => {
    const { before = [], body = "", code, received_at_ms, sealed, status } = asked
    const replay = Effect.gen(function* () {
      const sessions = yield* Sessions
      const initHash = reference.initHash(session.request_body)
      assert.strictEqual(yield* sessions.begin({ suite: X25519, initHash }), session.attestation)
      yield* TestClock.setTime(received_at_ms)
      for (const each of before) {
        assert.strictEqual((yield* send(each))._tag, "Success")
        yield* TestClock.setTime(received_at_ms)
      }
      const answered = yield* send(body)
      if (sealed === undefined) {
        const refusal = yield* Effect.flip(answered)
        assert.deepStrictEqual([refusal.status, refusal.code], [status, code])
        return
      }
      const collected = yield* answered
      assert.strictEqual(status, 200)
      const envelope = JSON.parse(body) as ReferenceRequest["envelope"]
      const { payloads } = openAnswer(
        {
          envelope,
          payload: Buffer.alloc(0),
          enc: reference.fromB64u(envelope.enc),
          secret: reference.fromHex(asked.exported_secret ?? ""),
          requestHash: reference.fromHex(asked.request_hash ?? ""),
        },
        collected,
      )
      const { problem, receipt, status: ended } = payloads.at(-1) ?? {}
      const claims = JSON.parse(reference.fromB64u(String(receipt).split(".")[1] ?? "").toString()) as Record<
        string,
        unknown
      >
      const found = {
        form: collected.form,
        status: ended,
        jti: claims["jti"],
        problem:
          problem === undefined
            ? undefined
            : [Reflect.get(Object(problem), "status"), Reflect.get(Object(problem), "code")],
      }
      assert.deepStrictEqual<object>(found, {
        form: sealed.form,
        status: sealed.status,
        jti: sealed.jti,
        problem: code === undefined ? undefined : [sealed.problem_status, code],
      })
      assert.strictEqual(claims["request_hash"], encodeBase64Url(unhex(asked.request_hash ?? "")))
    }).pipe(Effect.provide(layer))
    return Effect.andThen(TestClock.setTime(session.begun_at_ms), replay)
  })
})
