import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ProviderId, UpstreamRequest } from "../../../src/domain/upstream/upstream.ts"
import { REPEAT } from "../../../src/services/upstream/Faults.ts"
import {
  ask,
  fails,
  hang,
  passingTime,
  role,
  says,
  text,
  type Script,
  scripted,
  upstreamOf,
} from "./ScriptedProvider.ts"
import { streamOf } from "../../support/streamed.ts"

const refused = fails("unauthorized", { reason: "status 401", detail: Redacted.make("quoted key") })
const gone = fails("unreachable", { reason: "there is no host with that name", lasting: true })

/** A provider that fails before one that does not, and the lines of the log about it from `info` on. */
const setUp = Effect.fnUntraced(function* (script: Script, id: ProviderId = "provider1") {
  const first = { ...scripted(id), server: { address: "api.example.com", port: 443 } }
  first.always(script)
  const upstream = yield* upstreamOf([first, scripted("provider2")], {
    retry: { times: 0 },
    circuit: { failures: 1_000 },
  })
  const lines: Array<Readonly<Record<string, unknown>>> = []
  const logger = Logger.make((options) => {
    const { annotations, level, message } = Logger.formatStructured.log(options)
    if (level === "DEBUG") return
    if (message === "Provider call failed") lines.push({ level, ...annotations })
    if (message === "Provider works again") lines.push({ level, message, ...annotations })
  })
  const complete = (request: UpstreamRequest = ask(), limit = 1) =>
    passingTime(Effect.provide(Effect.exit(upstream.complete(request)), Logger.layer([logger])), `${limit} seconds`)
  const stream = passingTime(Effect.exit(Stream.runDrain(streamOf(upstream, ask()))), "5 minutes")
  const fault = Effect.map(upstream.status, ([provider]) => provider?.fault)
  return { first, lines, complete, stream, fault }
})

describe("a fault hidden by failover", () => {
  it.effect("is logged once when it begins and once when it ends, and is in the status meanwhile", () =>
    Effect.gen(function* () {
      const { complete, fault, first, lines } = yield* setUp([fails("unavailable", { reason: "status 500" })])
      for (let i = 0; i < 3; i++) yield* complete()
      yield* TestClock.adjust(REPEAT)
      yield* complete()
      const about = { provider: "provider1", model: "provider1-model", outcome: "unavailable" }
      const host = "api.example.com:443"
      const fix = "check the provider's status page"
      const begun = { level: "INFO", ...about, cause: "first", host, reason: "status 500", fix }
      assert.deepStrictEqual(lines, [begun])
      assert.deepInclude(yield* fault, { host, reason: "status 500", lasting: false, fix })
      first.always(says("ok"))
      for (let i = 0; i < 2; i++) yield* complete()
      assert.isUndefined(yield* fault)
      assert.lengthOf(lines, 2)
      const { after_s: after, ...ended } = lines[1] ?? {}
      assert.deepStrictEqual(ended, { level: "INFO", message: "Provider works again", ...about, host })
      assert.isAtLeast(Number(after), 600)
    }),
  )

  it.effect("that comes and goes is logged once in 10 minutes", () =>
    Effect.gen(function* () {
      const { complete, first, lines } = yield* setUp([fails("unavailable", { reason: "status 500" })])
      const comeAndGo = Effect.gen(function* () {
        first.always([fails("unavailable", { reason: "status 500" })])
        yield* complete()
        first.always(says("ok"))
        yield* complete()
      })
      for (let i = 0; i < 3; i++) yield* comeAndGo
      assert.lengthOf(lines, 2)
      yield* TestClock.adjust(REPEAT)
      yield* comeAndGo
      assert.lengthOf(lines, 4)
    }),
  )

  it.effect("that lasts is a warning with its fix, and stays in the status until a call succeeds", () =>
    Effect.gen(function* () {
      const { complete, fault, first, lines } = yield* setUp([gone])
      assert.isUndefined(yield* fault)
      yield* complete()
      const { since, ...rest } = (yield* fault) ?? { since: undefined }
      assert.isDefined(since)
      const fix = "check PROVIDER1_BASE_URL, DNS, the certificate and the firewall"
      const about = {
        model: "provider1-model",
        outcome: "unreachable",
        host: "api.example.com:443",
        reason: "there is no host with that name",
        lasting: true,
        fix,
      }
      assert.deepStrictEqual(rest, about)
      assert.strictEqual(lines[0]?.["level"], "WARN")
      assert.strictEqual(lines[0]?.["fix"], fix)
      yield* complete()
      assert.strictEqual((yield* fault)?.since, since)
      first.always([refused])
      yield* complete()
      assert.strictEqual((yield* fault)?.outcome, "unauthorized")
      assert.lengthOf(lines, 2)
      assert.notInclude(JSON.stringify(lines), "quoted key")
      first.always(says("ok"))
      yield* complete()
      assert.isUndefined(yield* fault)
    }),
  )

  it.effect("is the caller's if the caller invented the model, and the provider's if a setting names the model", () =>
    Effect.gen(function* () {
      const { complete, fault, lines } = yield* setUp([fails("unknown-model", { reason: "status 404" })])
      yield* complete(ask({ model: "made-up" }))
      yield* complete(ask({ provider: "provider1", model: "made-up" }))
      assert.isUndefined(yield* fault)
      assert.deepStrictEqual(lines, [])
      yield* complete()
      assert.strictEqual((yield* fault)?.fix, "check PROVIDER1_MODEL, or the targets of the routing")
      assert.lengthOf(lines, 1)
    }),
  )

  it.effect("names members of PROVIDERS_FILE if the provider is from there", () =>
    Effect.gen(function* () {
      for (const [kind, member] of [
        ["unauthorized", "key"],
        ["unknown-model", "models"],
        ["unreachable", "base_url"],
        ["garbage", "base_url"],
      ] as const) {
        const { complete, fault } = yield* setUp([fails(kind)], "my-llm")
        yield* complete()
        const { fix = "" } = (yield* fault) ?? {}
        assert.match(fix, new RegExp(`^check its ${member} in PROVIDERS_FILE`))
      }
    }),
  )

  it.effect("names the time limit that ended a silent call", () =>
    Effect.gen(function* () {
      const { complete, fault, first, stream } = yield* setUp([hang])
      const reason = Effect.map(fault, (fault) => fault?.reason ?? "")
      yield* complete(ask(), 300)
      assert.include(yield* reason, "UPSTREAM_ANSWER_TIMEOUT")
      yield* stream
      assert.include(yield* reason, "UPSTREAM_FIRST_TOKEN_TIMEOUT")
      first.always([role, text("begun"), hang])
      yield* stream
      assert.include(yield* reason, "UPSTREAM_IDLE_TIMEOUT")
    }),
  )

  it.effect("is not over when another model of its provider answers", () =>
    Effect.gen(function* () {
      const { complete, fault, first } = yield* setUp([fails("unknown-model", { reason: "status 404" })])
      yield* complete()
      first.always(says("hello"))
      yield* complete(ask({ model: "gpt-5" }))
      assert.strictEqual((yield* fault)?.outcome, "unknown-model")
      yield* complete()
      assert.isUndefined(yield* fault)
    }),
  )
})
