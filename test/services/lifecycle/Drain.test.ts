import { assert, it } from "@effect/vitest"
import { Duration, Effect, Logger } from "effect"
import { Drain } from "../../../src/services/lifecycle/Drain.ts"

it.effect("logs that nothing is in flight when an idle server stops", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const { drain, draining } = yield* Drain
    yield* Effect.provide(drain, Logger.layer([logger]))
    assert.isTrue(yield* draining)
    assert.deepStrictEqual(lines, ["shutting down; nothing is in flight"])
  }).pipe(Effect.provide(Drain.layer({ grace: Duration.seconds(30) }))),
)
