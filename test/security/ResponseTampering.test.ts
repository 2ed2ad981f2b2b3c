/** Every byte, and the order and number of everything in a sealed answer, is verified by the client. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodeBase64Url } from "../../src/domain/bytes/bytes.ts"
import { FLOOR, UNPACED_FLOOR } from "../../src/domain/protocol/padding.ts"
import type { ChatChunk } from "../../src/domain/chat/chat.ts"
import { PinMismatch, StreamTruncated, Tampered } from "../../src/client/errors.ts"
import { ResponseOpener } from "../../src/client/sealed/ResponseOpener.ts"
import type { Fetch, SealedClient } from "../../src/client/sealed/SealedClient.ts"
import { verifyProof, verifyReceipt } from "../../src/client/verification/verify.ts"
import { layerEchoWith } from "../support/echo.ts"
import { type RunningProxy, startProxy as start } from "../support/proxy.ts"
import { beginSession, jsonOf, keysOf, post, seal, withByteChanged, withCharacterChanged } from "../support/sealing.ts"
import { changing, changingEvents, eventsOf, failureOf, type SentEvent, textOf } from "../support/tamper.ts"

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

interface Outcome {
  readonly chunks: ReadonlyArray<ChatChunk>
  readonly error: unknown
}

/** Reads a stream as far as it goes. */
const read = async (client: SealedClient): Promise<Outcome> => {
  const chunks: Array<ChatChunk> = []
  try {
    const stream = await client.stream({ prompt: PROMPT })
    for await (const part of stream) if (part.type === "delta") chunks.push(part.chunk)
    await stream.end
    return { chunks, error: undefined }
  } catch (error) {
    return { chunks, error }
  }
}

const contentOf = (chunks: ReadonlyArray<ChatChunk>): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")

const parse = ({ data }: SentEvent): Record<string, unknown> => JSON.parse(data) as Record<string, unknown>
const frame = (members: object): SentEvent => ({ event: "frame", data: JSON.stringify(members) })

/** Gives the frames the numbers that are due, as somebody would who hides what was done. */
const renumbered = (events: ReadonlyArray<SentEvent>): ReadonlyArray<SentEvent> => {
  let seq = 0
  return events.map((event) => (event.event === "frame" ? frame({ ...parse(event), seq: seq++ }) : event))
}

type Change = (events: ReadonlyArray<SentEvent>, index: number) => ReadonlyArray<SentEvent>

/** Changes of frame `index`, where `open` is the event before frame 0. */
const CHANGES: Readonly<Record<string, Change>> = {
  dropped: (events, index) => events.toSpliced(index + 1, 1),
  repeated: (events, index) => events.toSpliced(index + 1, 0, ...events.slice(index + 1, index + 2)),
  "repeated at the end": (events, index) => [...events, ...events.slice(index + 1, index + 2)],
  swapped: (events, index) => events.toSpliced(index + 1, 2, ...events.slice(index + 1, index + 3).toReversed()),
  "preceded by an unknown event": (events, index) => events.toSpliced(index + 1, 0, { event: "note", data: "{}" }),
  "preceded by a second opening": (events, index) => events.toSpliced(index + 1, 0, ...events.slice(0, 1)),
  "marked as final, or not": (events, index) =>
    events.with(index + 1, frame({ ...parse(events[index + 1] ?? frame({})), final: index + 1 < FRAMES })),
}

it.effect("dropping, repeating, swapping, inserting or re-marking any frame of a stream is detected", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const whole = yield* Effect.promise(() => read(proxy.client()))
    assert.isUndefined(whole.error)
    assert.strictEqual(contentOf(whole.chunks), PROMPT)
    assert.strictEqual(whole.chunks.length, FRAMES - 1)

    const plain = (events: ReadonlyArray<SentEvent>) => events
    let change = plain
    const client = proxy.client({ fetch: changingEvents((events) => change(events)) })
    for (const [name, changed] of Object.entries(CHANGES)) {
      for (let index = 0; index < FRAMES; index++) {
        for (const hide of [plain, renumbered]) {
          change = (events) => hide(changed(events, index))
          const { chunks, error } = yield* Effect.promise(() => read(client))
          assert.instanceOf(error, Tampered, `frame ${index} ${name}`)
          assert.isTrue(PROMPT.startsWith(contentOf(chunks)), `frame ${index} ${name}`)
        }
      }
    }
    change = plain
    assert.isUndefined((yield* Effect.promise(() => read(client))).error)
  }),
)

it.effect("a stream cut after any event is truncated, and gives the verified part", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    // Opening, frames and proof.
    yield* Effect.forEach(
      Array.from({ length: FRAMES + 2 }, (_, kept) => kept),
      (kept) =>
        Effect.promise(async () => {
          const politely = changingEvents((events) => events.slice(0, kept))
          const rudely = changing((body, response) => {
            const text = new TextEncoder().encode(textOf(eventsOf(body).slice(0, kept)))
            let sent = false
            const broken = new ReadableStream<Uint8Array>({
              pull: (controller) => {
                if (sent) controller.error(new Error("the connection broke"))
                else controller.enqueue(text)
                sent = true
              },
            })
            return new Response(broken, response)
          })
          const insideAnEvent = changing((body, response) => {
            const events = eventsOf(body)
            const half = textOf(events.slice(kept, kept + 1))
            return new Response(textOf(events.slice(0, kept)) + half.slice(0, half.length / 2), response)
          })
          for (const fetch of [politely, rudely, insideAnEvent]) {
            const { chunks, error } = await read(proxy.client({ fetch }))
            assert.instanceOf(error, StreamTruncated, `after ${kept} events`)
            assert.strictEqual(chunks.length, Math.min(Math.max(0, kept - 1), FRAMES - 1))
            assert.deepStrictEqual(error.prefix.chunks, chunks)
            assert.isTrue(PROMPT.startsWith(contentOf(chunks)))
          }
        }),
      { concurrency: 8, discard: true },
    )
  }),
)

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
        const events = form === "stream" ? eventsOf(text).slice(0, -1).map(parse) : []
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

it.effect("a change of the response nonce, or of any character of a statement, is detected", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const nonceLength = 43
      for (let at = 0; at < nonceLength; at++) {
        const change: Fetch = changingEvents(([open, ...events]) => {
          const nonce = String(parse(open ?? frame({}))["response_nonce"])
          return [
            { event: "open", data: JSON.stringify({ response_nonce: withCharacterChanged(nonce, at) }) },
            ...events,
          ]
        })
        assert.instanceOf((await read(proxy.client({ fetch: change }))).error, Tampered)
      }

      const stream = await proxy.client().stream({ prompt: "hello" })
      await stream.text()
      const { statements } = await stream.end
      const trust = { pins: [proxy.kid], keys: await jsonOf(await fetch(`${proxy.url}/v1/keys`)) }
      for (const [statement, verify] of [
        [statements.receipt, verifyReceipt],
        [statements.proof, verifyProof],
      ] as const) {
        await verify(statement, trust)
        for (let at = 0; at < statement.length; at++) {
          const changed =
            statement[at] === "."
              ? statement.slice(0, at) + statement.slice(at + 1)
              : withCharacterChanged(statement, at)
          const error = await failureOf(verify(changed, trust))
          assert.isTrue(error instanceof Tampered || error instanceof PinMismatch, `character ${at}`)
        }
      }
      // One kind of statement does not pass for the other.
      assert.instanceOf(await failureOf(verifyProof(statements.receipt, trust)), Tampered)
      assert.instanceOf(await failureOf(verifyReceipt(statements.proof, trust)), Tampered)
    })
  }),
)
