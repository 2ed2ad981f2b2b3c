import { assert, it } from "@effect/vitest"
import { Duration, Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { RawObject } from "../../../src/domain/json/rawObject.ts"
import { CHAT_COMPLETIONS } from "../../../src/domain/upstream/apis.ts"
import type { KeySource } from "../../../src/domain/upstream/upstream.ts"
import { apiRequest } from "../../../src/services/sealing/apiRequest.ts"
import type { ApiCall } from "../../../src/services/routing/askApi.ts"
import {
  CachedAnswers,
  type CacheSettings,
  type CacheUse,
  MAX_ANSWER_BYTES,
} from "../../../src/services/routing/CachedAnswers.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { Router } from "../../../src/services/routing/Router.ts"
import { RoutingConfig } from "../../../src/services/routing/RoutingConfig.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { describeDatabases, type TestDatabase } from "../../support/databases.ts"

const TTL = Duration.minutes(10)

const services = (database: TestDatabase, limits: Partial<CacheSettings> = {}, upstream = Upstream.layerEcho) =>
  CachedAnswers.layer({ ttl: TTL, maxBytes: 100_000, maxTenantBytes: 100_000, ...limits }).pipe(
    Layer.provide(Router.layer),
    Layer.provide(Ledger.layer),
    Layer.provideMerge(RoutingConfig.layer()),
    Layer.provide(upstream),
    Layer.provide(database.layer),
  )

const asked = Effect.fnUntraced(function* (content: string, call: Partial<ApiCall> = {}) {
  const raw = RawObject.of({ model: "echo-1", messages: [{ role: "user", content }] })
  const request = yield* apiRequest({ api: CHAT_COMPLETIONS, headers: {}, raw, body: { model: "echo-1" } })
  return { tenant: "acme", request, ...call }
})

/** Asks, and returns whether the answer is a kept one. */
const isCached = Effect.fnUntraced(function* (content: string, call: Partial<ApiCall> = {}, use: CacheUse = "all") {
  const { isCached, value } = yield* (yield* CachedAnswers).answer(yield* asked(content, call), use)
  assert.include(value, content)
  return isCached
})

const isStreamCached = Effect.fnUntraced(function* (content: string) {
  const { isCached, value } = yield* (yield* CachedAnswers).stream(yield* asked(content), "all")
  return { isCached, pieces: yield* Stream.runCollect(value) }
})

describeDatabases("CachedAnswers", (database) => {
  it.effect("answers a repetition, but not what differs in bytes, headers, tenant or limits of the key", () =>
    Effect.gen(function* () {
      const { request } = yield* asked("Hi")
      assert.isFalse(yield* isCached("Hi"))
      assert.isTrue(yield* isCached("Hi"))
      assert.isFalse(yield* isCached("Hi "))
      const respelled = new TextEncoder().encode(request.body.text.replace("{", "{ "))
      const others: ReadonlyArray<Partial<ApiCall>> = [
        { request: { ...request, body: new RawObject(respelled, new Map()) } },
        { request: { ...request, headers: { "openai-beta": "x" } } },
        { tenant: "other" },
        { keyPolicy: { allow: ["echo-1"] } },
        { budgeted: [{ owner: { kind: "key", id: "k" }, budgets: [{ per: "day", max_tokens: 1_000_000 }] }] },
      ]
      for (const other of others) assert.isFalse(yield* isCached("Hi", other), Object.keys(other).join())
      // Another key without limits counts as the same caller for the cache.
      assert.isTrue(yield* isCached("Hi", { key: "key-2" }))
    }).pipe(Effect.provide(services(database))),
  )

  it.effect("gives no answers of a provider that is no longer configured", () => {
    let isRemoved = false
    const upstream = Layer.effect(
      Upstream,
      Effect.map(Upstream, (echo) => ({
        ...echo,
        configured: Effect.suspend(() => (isRemoved ? Effect.succeed(new Map<string, KeySource>()) : echo.configured)),
      })),
    ).pipe(Layer.provide(Upstream.layerEcho))
    return Effect.gen(function* () {
      yield* isCached("Hi")
      assert.isTrue(yield* isCached("Hi"))
      isRemoved = true
      assert.propertyVal(yield* Effect.flip(isCached("Hi")), "reason", "configured")
    }).pipe(Effect.provide(services(database, {}, upstream)))
  })

  it.effect("keeps answers for the configured time", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* isCached("Hi"))
      yield* TestClock.adjust(Duration.subtract(TTL, Duration.millis(1)))
      assert.isTrue(yield* isCached("Hi"))
      // Setting the clock back must not make them last.
      yield* TestClock.setTime(0)
      yield* TestClock.adjust(Duration.millis(1))
      assert.isFalse(yield* isCached("Hi"))
      assert.isTrue(yield* isCached("Hi"))
    }).pipe(Effect.provide(services(database))),
  )

  it.effect("neither reads nor keeps with no-store, and replaces with no-cache", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* isCached("Hi", {}, "no-store"))
      assert.isFalse(yield* isCached("Hi", {}, "no-cache"))
      assert.isFalse(yield* isCached("Hi", {}, "no-store"))
      assert.isFalse(yield* isCached("Hi", {}, "no-cache"))
      assert.isTrue(yield* isCached("Hi"))
    }).pipe(Effect.provide(services(database))),
  )

  it.effect("keeps nothing of calls that add to a provider's conversation, and nothing without a time", () =>
    Effect.gen(function* () {
      const { request } = yield* asked("Hi")
      const body = RawObject.of({ model: "echo-1", conversation: "c", messages: [{ role: "user", content: "Hi" }] })
      for (const _ of [1, 2]) assert.isFalse(yield* isCached("Hi", { request: { ...request, body } }))
      const off = services(database, { ttl: Duration.zero })
      yield* Effect.gen(function* () {
        for (const _ of [1, 2]) assert.isFalse(yield* isCached("Hi"))
      }).pipe(Effect.provide(off))
    }).pipe(Effect.provide(services(database))),
  )

  it.effect("asks again once the routing has changed", () =>
    Effect.gen(function* () {
      const config = yield* RoutingConfig
      assert.isFalse(yield* isCached("Hi"))
      assert.isTrue(yield* isCached("Hi"))
      yield* config.put({ ...(yield* config.current) }, { by: "admin" })
      assert.isFalse(yield* isCached("Hi"))
    }).pipe(Effect.provide(services(database))),
  )

  it.effect("repeats a stream's pieces, and only if it was read to its end", () =>
    Effect.gen(function* () {
      const cut = yield* (yield* CachedAnswers).stream(yield* asked("Hi there"), "all")
      yield* Stream.runCollect(Stream.take(cut.value, 1))
      const first = yield* isStreamCached("Hi there")
      const second = yield* isStreamCached("Hi there")
      assert.deepStrictEqual([first.isCached, second.isCached], [false, true])
      assert.isAbove(first.pieces.length, 1)
      assert.deepStrictEqual(second.pieces, first.pieces)
    }).pipe(Effect.provide(services(database))),
  )

  const LONG = 10_000
  const text = (name: string) => name.padEnd(LONG, "x")

  it.effect("drops a tenant's least recently used answers beyond its room, and those of no other tenant", () =>
    Effect.gen(function* () {
      for (const name of ["a", "b"]) yield* isCached(text(name))
      yield* isCached(text("a"), { tenant: "other" })
      assert.isTrue(yield* isCached(text("a")))
      yield* isCached(text("c"))
      assert.isTrue(yield* isCached(text("a")))
      assert.isFalse(yield* isCached(text("b")))
      assert.isTrue(yield* isCached(text("a"), { tenant: "other" }))
    }).pipe(Effect.provide(services(database, { maxTenantBytes: 2.9 * LONG }))),
  )

  it.effect("makes room in full memory at the cost of the tenant that uses most", () =>
    Effect.gen(function* () {
      for (const name of ["a", "b"]) yield* isCached(text(name))
      yield* isCached(text("a"), { tenant: "other" })
      yield* isCached(text("a"), { tenant: "third" })
      assert.isTrue(yield* isCached(text("a"), { tenant: "other" }))
      assert.isTrue(yield* isCached(text("a"), { tenant: "third" }))
      assert.isTrue(yield* isCached(text("b")))
      assert.isFalse(yield* isCached(text("a")))
    }).pipe(Effect.provide(services(database, { maxBytes: 3.9 * LONG }))),
  )

  it.effect("does not keep an answer that is too long", () =>
    Effect.gen(function* () {
      const long = "x".repeat(MAX_ANSWER_BYTES)
      for (const _ of [1, 2]) assert.isFalse(yield* isCached(long))
      for (const _ of [1, 2]) assert.isFalse((yield* isStreamCached(long)).isCached)
    }).pipe(Effect.provide(services(database, { maxBytes: 1e9, maxTenantBytes: 1e9 }))),
  )
})
