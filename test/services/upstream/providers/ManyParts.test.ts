/** Messages and answers of more parts than a function takes arguments. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { canned, events, json, MINIMAL } from "./support/Canned.ts"

const MANY = 150_000
const content = Array.from({ length: MANY }, () => ({ type: "text", text: "a" }) as const)

describe("a request with many parts", () => {
  for (const vendor of ["anthropic", "gemini"] as const) {
    for (const role of ["system", "user"] as const) {
      it.effect(`is sent to ${vendor} if they are the ${role}'s`, () =>
        Effect.gen(function* () {
          const { provider, sent } = yield* canned(vendor, () => json(MINIMAL[vendor]))
          yield* provider.complete({
            messages: [
              { role: "user", content: "a" },
              { role, content },
            ],
          })
          assert.isAbove(JSON.stringify(sent[0]?.body).split('"text":"a"').length, MANY)
        }),
      )
    }
  }
})

describe("an answer with many parts", () => {
  const parts = Array.from({ length: MANY }, () => ({ text: "a" }))
  const answer = { candidates: [{ content: { parts }, finishReason: "STOP" }] }

  it.effect("is read from gemini whole", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("gemini", () => json(answer))
      const { choices } = yield* provider.complete({ messages: [{ role: "user", content: "a" }] })
      assert.strictEqual(choices[0]?.message.content, "a".repeat(MANY))
    }),
  )

  it.effect("is read from gemini in one event", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("gemini", () => events([`data: ${JSON.stringify(answer)}\n\n`]))
      const chunks = yield* Stream.runCollect(provider.stream({ messages: [{ role: "user", content: "a" }] }))
      assert.isAbove(chunks.length, MANY)
    }),
  )
})
