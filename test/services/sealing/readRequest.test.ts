import { randomUUID } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted } from "effect"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import { API_NAMES } from "../../../src/domain/upstream/apis.ts"
import { Callers } from "../../../src/services/access/Callers.ts"
import { readRequest } from "../../../src/services/sealing/readRequest.ts"
import { RequestIds } from "../../../src/services/sealing/RequestIds.ts"
import { openedOf } from "../../support/protocol/Sealing.ts"

const ID = "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6a"
const NAMES = Array.from({ length: 32_000 }, (_, i) => `"${"x".repeat(250)}${i}":0`).join(",")
const HEAD = `"request_id":"${ID}","issued_at":0,"api":"chat.completions"`

/** Reads a payload as the proxy does once it is opened. */
const read = Effect.fnUntraced(function* (text: string) {
  const admission = { callers: yield* Callers, requestIds: yield* RequestIds }
  return yield* readRequest(openedOf(utf8(text)), admission)
})

const layer = Layer.merge(RequestIds.layer({ sessionTtl: Duration.minutes(5), max: 10 }), Callers.layerOpen)

it.live.each<readonly [where: string, text: string]>([
  ["beside the body", `{${HEAD},${NAMES},"body":{"stream":true}}`],
  ["in the body", `{${HEAD},"body":{${NAMES},"stream":true}}`],
])("a payload with thousands of long names %s is read in steps, between which others are served", ([, text]) =>
  Effect.gen(function* () {
    let turns = 0
    let reading = true
    const turn = () => {
      turns++
      if (reading) setImmediate(turn)
    }
    setImmediate(turn)
    const asked = yield* read(text)
    reading = false
    assert.deepInclude(asked, { requestId: ID, form: "stream", api: "chat.completions" })
    // At least one turn for each 512 KiB.
    assert.isAbove(turns, text.length / (512 * 1024))
  }).pipe(Effect.provide(layer)),
)

it.effect.each(API_NAMES)("a model's name of %s has at most 256 characters", (api) =>
  Effect.gen(function* () {
    const ask = (model: string) =>
      Effect.flatMap(
        read(
          JSON.stringify({
            request_id: randomUUID(),
            issued_at: 0,
            api,
            body: { model, messages: [{ role: "user", content: "x" }] },
          }),
        ),
        ({ admit }) => Effect.map(admit, ({ request }) => request),
      )
    assert.strictEqual((yield* ask("m".repeat(256))).model, "m".repeat(256))
    const refused = yield* Effect.flip(ask("m".repeat(257)))
    assert(refused._tag === "Refused")
    assert.strictEqual(refused.code, "invalid-request")
    assert.deepStrictEqual(
      (refused.errors === undefined ? [] : Redacted.value(refused.errors)).map(({ path }) => path),
      ["body.model"],
    )
  }).pipe(Effect.scoped, Effect.provide(layer)),
)

it.effect("embeddings of many token ids are read", () =>
  Effect.gen(function* () {
    const input = Array.from({ length: 100 }, () => Array.from({ length: 400 }, () => 100_257))
    const payload = { request_id: randomUUID(), issued_at: 0, api: "embeddings", body: { model: "m", input } }
    const { admit } = yield* read(JSON.stringify(payload))
    assert.deepStrictEqual((yield* admit).request.body.value("input"), input)
  }).pipe(Effect.scoped, Effect.provide(layer)),
)
