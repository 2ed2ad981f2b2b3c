import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Schema, Stream } from "effect"
import { FailureKind, failureRules } from "../../../src/domain/upstream/failures.ts"
import type { Attempt, Completed, UpstreamError } from "../../../src/domain/upstream/upstream.ts"
import { defaultUpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import {
  ask,
  fails,
  finish,
  hang,
  JITTER_FLOOR,
  passingTime,
  rounded,
  role,
  type Script,
  scripted,
  text,
  upstreamOf,
  wait,
} from "./ScriptedProvider.ts"
import { type StreamedEvent, streamOf } from "../../support/streamed.ts"

const { base, times } = defaultUpstreamSettings.retry
const { total } = defaultUpstreamSettings.timeouts

/** One possible call: its output before the end, its speed, and its end. */
const Performance = Schema.Struct({
  role: Schema.Boolean,
  words: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  pause: Schema.Literals([0, 1, 400, 9_000, 39_999, 40_000, 59_999, 60_000, 70_000]),
  end: Schema.Literals(["finish", "stop short", "go silent", ...FailureKind.literals]),
  retryAfterMs: Schema.NullOr(Schema.Literals([0, 1_500, 20_000, 20_001, 86_400_000])),
})

const Request = Schema.Struct({
  stream: Schema.Boolean,
  restart: Schema.Boolean,
  provider: Schema.UndefinedOr(Schema.Literals(["provider1", "provider2", "provider3"])),
})

const shorterThan = <S extends Schema.Top>(item: S, maximum: number) =>
  Schema.Array(item).check(Schema.isMaxLength(maximum))

const scriptOf = (performance: typeof Performance.Type, name: string): Script => {
  const words = Array.from({ length: performance.words }, (_, index) => [
    wait(performance.pause),
    text(`${name}.${index} `),
  ])
  const start = performance.role ? [role] : []
  const { retryAfterMs } = performance
  const end =
    performance.end === "finish"
      ? [finish()]
      : performance.end === "go silent"
        ? [hang]
        : performance.end === "stop short"
          ? []
          : [fails(performance.end, retryAfterMs === null ? {} : { retryAfterMs })]
  return [...start, ...words.flat(), ...end]
}

/** Which call a piece of text is from. */
const callOf = (event: StreamedEvent): string | undefined =>
  event._tag === "Delta" ? event.chunk.choices[0]?.delta.content?.split(".")[0] : undefined

const checkAttempts = (attempts: ReadonlyArray<Attempt>, startedAt: number, endedAt: number) => {
  assert.isAtMost(rounded(endedAt - startedAt), Duration.toMillis(total))
  for (const provider of new Set(attempts.map((attempt) => attempt.provider))) {
    const own = attempts.filter((attempt) => attempt.provider === provider)
    assert.isAtMost(own.length, 1 + times)
    own.slice(1).forEach((attempt, index) => {
      const before = own[index]
      const pause = rounded(attempt.startedAt - (before?.finishedAt ?? Infinity))
      assert.isAtLeast(pause, Duration.toMillis(base) * JITTER_FLOOR)
      assert.strictEqual(attempt.cause, "retry")
      const outcome = before?.outcome
      assert.isTrue(outcome !== undefined && outcome !== "success" && outcome !== "interrupted")
      // After silence, a refusal or a bad key the same target is not asked again.
      assert.isTrue(failureRules[outcome as FailureKind].retry) // Narrowed by the assertion before.
    })
  }
  for (const [index, { outcome }] of attempts.entries()) {
    if (outcome === "success" || outcome === "content-filtered" || outcome === "invalid-request") {
      assert.strictEqual(index, attempts.length - 1)
    }
  }
}

/** Checks the end of a stream, and that a restart stands between the texts of any two calls. */
const checkEvents = (events: ReadonlyArray<StreamedEvent>, succeeded: boolean, restart: boolean) => {
  const finishedAt = events.findIndex(({ _tag }) => _tag === "Finished")
  assert.strictEqual(finishedAt, succeeded ? events.length - 1 : -1)
  if (!restart) assert.isFalse(events.some(({ _tag }) => _tag === "Restarted"))
  // Between two restarts, and before the first, all text is from one call.
  let current: string | undefined
  for (const event of events) {
    if (event._tag === "Restarted") {
      assert.isDefined(current)
      current = undefined
      continue
    }
    const call = callOf(event)
    if (call === undefined || call === "") continue
    assert.isTrue(current === undefined || current === call, `${call} after ${current} without a restart`)
    current = call
  }
}

describe("whatever the providers do", () => {
  it.effect.prop(
    "every answer is whole or an error, in bounded time and with a bounded number of calls",
    {
      performances: Schema.Tuple([
        shorterThan(Performance, 6),
        shorterThan(Performance, 6),
        shorterThan(Performance, 6),
      ]),
      requests: shorterThan(Request, 4),
    },
    ({ performances, requests }) =>
      Effect.gen(function* () {
        const providers = [scripted("provider1"), scripted("provider2"), scripted("provider3")] as const
        providers.forEach((provider, index) => {
          provider.script(
            ...(performances[index] ?? []).map((performance, call) => scriptOf(performance, `${provider.id}#${call}`)),
          )
        })
        const upstream = yield* upstreamOf(providers, { timeouts: { answer: Duration.seconds(30) } })
        for (const { provider, restart, stream } of requests) {
          const before = providers.map(({ calls }) => calls.length)
          const request = ask({ provider, restart })
          const startedAt = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
          const events: Array<StreamedEvent> = []
          const streamed = Effect.gen(function* () {
            yield* Stream.runForEach(streamOf(upstream, request), (event) => Effect.sync(() => events.push(event)))
            const last = events.at(-1)
            return last?._tag === "Finished" ? last : assert.fail("a stream ended without an error and without an end")
          })
          const run: Effect.Effect<Pick<Completed, "attempts" | "served">, UpstreamError> = stream
            ? streamed
            : upstream.complete(request)
          const { endedAt, exit } = yield* passingTime(
            Effect.gen(function* () {
              const exit = yield* Effect.exit(run)
              return { exit, endedAt: yield* Effect.clockWith((clock) => clock.currentTimeMillis) }
            }),
          )
          const attempts = Exit.isSuccess(exit) ? exit.value.attempts : ((yield* Effect.flip(exit)).attempts ?? [])
          checkAttempts(attempts, startedAt, endedAt)
          if (stream) checkEvents(events, Exit.isSuccess(exit), restart)
          if (Exit.isSuccess(exit)) {
            assert.strictEqual(attempts.at(-1)?.outcome, "success")
            assert.strictEqual(exit.value.served.provider, attempts.at(-1)?.provider)
          } else {
            assert.isFalse(attempts.some(({ outcome }) => outcome === "success"))
          }
          // The books hold exactly the calls that were made.
          const calls = providers.flatMap((provider, index) => provider.calls.slice(before[index]))
          assert.strictEqual(attempts.length, calls.length)
          assert.isTrue(calls.every(({ endedAt: end }) => end !== undefined && end <= endedAt))
          if (provider !== undefined) assert.isTrue(attempts.every((attempt) => attempt.provider === provider))
        }
      }),
    { arbitrary: { runs: 300 } },
  )
})
