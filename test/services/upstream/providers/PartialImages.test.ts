/** Events of OpenAI's Responses that are larger than what models write. */
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { RawObject } from "../../../../src/domain/json/rawObject.ts"
import { canned, events } from "./support/Canned.ts"
import { sse } from "./support/raw.ts"

it.effect("a partial image of several MB passes", () =>
  Effect.gen(function* () {
    const partial_image_b64 = "A".repeat(7 * 1024 * 1024)
    const text = sse(
      { type: "response.created", response: { id: "r", model: "m", status: "in_progress" } },
      { type: "response.image_generation_call.partial_image", partial_image_b64 },
      { type: "response.completed", response: { id: "r", model: "m", status: "completed", output: [] } },
    )
    const { provider } = yield* canned("openai", () => events(text.match(/[^]{1,65536}/g) ?? []))
    const body = RawObject.of({ input: "a cat", stream: true })
    const stream = provider.native?.stream({ api: "responses", body, headers: {}, model: "m" })
    const pieces = yield* Stream.runCollect(stream ?? Stream.die("no native API"))
    assert.strictEqual(pieces[1]?.["partial_image_b64"], partial_image_b64)
    assert.strictEqual(pieces.at(-1)?.["type"], "response.completed")
  }),
)
