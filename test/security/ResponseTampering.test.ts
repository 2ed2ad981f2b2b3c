/** Every byte of a sealed answer is verified by the client. The conformance kit tries the order and the number of its events. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodeBase64Url } from "../../src/domain/bytes/bytes.ts"
import { FLOOR, UNPACED_FLOOR } from "../../src/domain/protocol/padding.ts"
import { Tampered } from "../../src/client/errors.ts"
import { ResponseOpener } from "../../src/client/sealed/ResponseOpener.ts"
import { layerEchoWith } from "../support/echo.ts"
import { type RunningProxy, startProxy as start } from "../support/proxy.ts"
import { beginSession, keysOf, post, seal, withByteChanged } from "../support/sealing.ts"
import { eventsOf } from "../support/tamper.ts"

/** A proxy whose echo says everything in pieces of its own, each of which is a frame. */
const startProxy = () =>
  start({
    upstream: layerEchoWith((echo) => ({
      requestStreamTo: (request, emit) =>
        echo.requestStreamTo(request, (events) => Effect.forEach(events, (event) => emit([event]))),
    })),
  })

/** The echo streams a role, each word, a finish reason and usage: with these, 12 frames, the final one included. */
const PROMPT = "one two three four five six seven eight"
const FRAMES = 12

/** A stream and a complete answer as they went over the wire, with what is needed to open them. */
const recordExchange = async (proxy: RunningProxy, stream: boolean) => {
  const session = await beginSession(proxy)
  const sent = await seal(session, { prompt: PROMPT, stream })
  return { sent, keys: await keysOf(proxy), text: await (await post(proxy, "/v1/completions", sent.body)).text() }
}

/** Streams are unpaced here. */
const layoutOf = (form: "stream" | "complete") => ({ form, floor: form === "stream" ? UNPACED_FLOOR : FLOOR })

/** A copy of an opener in its present state: frames are opened from it without moving the original on. */
const copyOf = (opener: ResponseOpener): ResponseOpener =>
  Object.assign(Object.create(Object.getPrototypeOf(opener)) as ResponseOpener, opener)

it.effect("a change of any byte of any frame is detected, in streams and complete answers", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      for (const form of ["stream", "complete"] as const) {
        const { keys, sent, text } = await recordExchange(proxy, form === "stream")
        const said = form === "stream" ? eventsOf(text).slice(0, -1) : []
        const events = said.map(({ data }) => JSON.parse(data) as Record<string, unknown>)
        const body = (form === "stream" ? events[0] : JSON.parse(text)) as Record<string, unknown>
        const frames =
          form === "stream" ? events.slice(1).map(({ ciphertext }) => String(ciphertext)) : (body["frames"] as string[])
        assert.strictEqual(frames.length, form === "stream" ? FRAMES : 2)
        const opener = await ResponseOpener.begin(sent, keys, layoutOf(form), String(body["response_nonce"]))
        for (const [index, ciphertext] of frames.entries()) {
          const final = index === frames.length - 1
          const length = decodeBase64Url(ciphertext)?.length ?? 0
          const changes = Array.from({ length }, (_, at) => withByteChanged(ciphertext, at, 1 << (at % 8)))
          const outcomes = await Promise.all(
            changes.map((changed) =>
              copyOf(opener)
                .open(changed, final)
                .catch((error: unknown) => error),
            ),
          )
          assert.isAbove(outcomes.length, 500)
          for (const [at, outcome] of outcomes.entries()) {
            assert.instanceOf(outcome, Tampered, `byte ${at} of ${form} frame ${index}`)
          }
          const payload = await opener.open(ciphertext, final)
          if (final) await opener.end(payload)
        }
      }
    })
  }),
)

it.effect("an endless answer is refused once it holds too much memory", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const { keys, sent, text } = await recordExchange(proxy, true)
      const [open, ...frames] = eventsOf(text).map(({ data }) => JSON.parse(data) as Record<string, unknown>)
      const layout = { ...layoutOf("stream"), mostBytes: 1500 }
      const opener = await ResponseOpener.begin(sent, keys, layout, String(open?.["response_nonce"]))
      const [first, second, third] = frames.map(({ ciphertext }) => String(ciphertext))
      assert(first !== undefined && second !== undefined && third !== undefined)
      await opener.open(first, false)
      await opener.open(second, false)
      const error = await opener.open(third, false).catch((error: unknown) => error)
      assert.instanceOf(error, Tampered)
      assert.match(error.message, /too long/)
    })
  }),
)
