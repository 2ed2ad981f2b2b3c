/** The error of README's first program without its pin. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import { startProxy } from "../support/proxy.ts"
import { failureOf } from "../support/tamper.ts"

it.live("an empty pin is called that", () =>
  Effect.gen(function* () {
    const { url } = yield* startProxy()
    const client = new SealedClient({ baseUrl: url, pins: [""] })
    const failed = yield* Effect.promise(() => failureOf(client.complete({ prompt: "Hello" })))
    assert.include(String(failed), "One of the pins is empty; a pin has 43")
  }).pipe(Effect.scoped),
)
