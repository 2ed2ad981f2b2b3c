/** The length of a paced answer cannot be guessed from its frames if durations are equal. */
import type { Readable } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { SealedCompletions } from "../../src/services/sealing/SealedCompletions.ts"
import { streamResponse } from "../../src/http/proxy/streamResponse.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { beginSession, layerSealing, openAnswer, type ReferenceRequest, sealChat } from "../support/protocol/Sealing.ts"
import { type ApiStreamedEvent, type Finished, streaming } from "../support/streamed.ts"

const PACE = 100
/** Streams of each length, and the concurrency. */
const STREAMS = 200
const AT_ONCE = 100
/** Ticks before the last tokens of an answer. Lengths are shares of these ticks. */
const TICKS = [14, 19, 24]
const LENGTHS = [0.01, 0.1, 0.4, 0.7, 1]
const SPEEDS = { "10 tokens a tick": 10, "200 tokens a tick": 200 } as const
/** Periods without reading, in milliseconds since the opening. */
const STALLS = {
  "read as it comes": undefined,
  "not read for 0.8 s": [450, 1250],
  "not read for 45 s": [450, 45_450],
} as const

/** Mulberry32: the same numbers in every run. */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}
const random = randomFrom(1)
const upTo = (most: number) => Math.floor(random() * most)

interface Said {
  readonly ticks: number
  readonly tokens: number
  readonly perTick: number
}

/** Silence, then tokens of 2 to 5 characters in two packets a tick, then the end. */
const saying = ({ perTick, ticks, tokens }: Said): Stream.Stream<ApiStreamedEvent> => {
  const perPacket = perTick / 2
  const packets = Math.ceil(tokens / perPacket)
  const begin = ticks * PACE - packets * (PACE / 2) + PACE / 4
  const packet = (index: number): ReadonlyArray<ApiStreamedEvent> =>
    Array.from({ length: Math.min(perPacket, tokens - index * perPacket) }, () => ({
      _tag: "Delta",
      provider: "provider1",
      chunk: {
        id: "chatcmpl-1",
        object: "chat.completion.chunk",
        created: 1,
        model: "model-1",
        choices: [{ index: 0, delta: { content: `${"w".repeat(1 + upTo(4))}.` }, finish_reason: null }],
      },
    }))
  const finished: Finished = {
    _tag: "Finished",
    served: { provider: "provider1", model: "model-1", finishReasons: ["stop"], usage: null },
    attempts: [],
  }
  return Stream.fromIterable(Array.from({ length: packets }, (_, index) => index)).pipe(
    Stream.rechunk(1),
    Stream.mapEffect((index) => Effect.as(Effect.sleep(index === 0 ? begin : PACE / 2), packet(index))),
    Stream.flatMap((events) => Stream.fromIterable(events)),
    Stream.concat(Stream.fromEffect(Effect.as(Effect.sleep(PACE / 4), finished))),
  )
}

/** The lengths of answers, in call order. */
const script: Array<Said> = []
const layer = layerSealing({ sessions: { maxRequests: 100_000 } }).pipe(
  Layer.provide(
    Layer.mock(Upstream)({
      requestStreamTo: streaming(({ body }) => {
        const said = script[Number(/"content":"(\d+)"/.exec(body.text)?.[1])]
        return said === undefined ? Stream.die(new Error("nothing to say")) : saying(said)
      }),
    }),
  ),
)

/** Observed times and sizes of a stream's pieces. */
interface Seen {
  readonly length: number
  readonly ticks: number
  readonly pieces: Array<readonly [at: number, size: number]>
  frames: number
  text: string
  ended: boolean
}

const watch = Effect.fnUntraced(function* (
  said: ReadonlyArray<Said & { readonly length: number }>,
  stall: readonly [from: number, to: number] | undefined,
) {
  const completions = yield* SealedCompletions
  const scope = yield* Scope.make()
  const offer = yield* beginSession()
  let now = 0
  const watched: Array<{
    readonly seen: Seen
    readonly body: Readable
    readonly request: ReferenceRequest
    readonly responseNonce: Uint8Array<ArrayBuffer>
    readonly tokens: number
  }> = []
  for (const each of said) {
    const prompt = String(script.push(each) - 1)
    const request = yield* sealChat(offer, { prompt, stream: true }, { pace: PACE })
    const answer = yield* Scope.provide(completions.handle(request.envelope), scope)
    if (answer._tag !== "Stream") return assert.fail("no stream")
    const { body } = yield* Scope.provide(streamResponse(answer), scope)
    if (body._tag !== "Raw") return assert.fail("no body")
    const seen: Seen = { length: each.length, ticks: each.ticks, pieces: [], frames: 0, text: "", ended: false }
    const readable = body.body as Readable
    readable.on("data", (piece: Buffer) => {
      seen.pieces.push([now, piece.length])
      seen.text += piece.toString()
    })
    readable.on("end", () => (seen.ended = true))
    watched.push({ seen, body: readable, request, responseNonce: answer.responseNonce, tokens: each.tokens })
  }
  yield* Effect.promise(() => setImmediate())
  const until = (stall?.[1] ?? 0) + (Math.max(...TICKS) + 3) * PACE
  for (; now < until && watched.some(({ seen }) => !seen.ended);) {
    now += PACE / 4
    yield* TestClock.adjust(PACE / 4)
    for (const { body } of watched) {
      if (now === stall?.[0]) body.pause()
      if (now === stall?.[1]) body.resume()
    }
    yield* Effect.promise(() => setImmediate())
  }
  yield* Scope.close(scope, Exit.void)
  for (const { request, responseNonce, seen, tokens } of watched) {
    assert.isTrue(seen.ended)
    const frames = [...seen.text.matchAll(/"ciphertext":"([\w-]+)"/g)].map(([, text = ""]) =>
      Buffer.from(text, "base64url"),
    )
    const { payloads } = openAnswer(request, { form: "stream", responseNonce, frames, proof: undefined })
    assert.strictEqual(payloads.at(-1)?.["status"], "complete")
    const words = JSON.stringify(payloads).match(/w+[.]/g) ?? []
    assert.lengthOf(words, tokens)
    seen.frames = frames.length
  }
  return watched.map(({ seen }) => seen)
})

/** Features that an observer may use. */
const FEATURES: Readonly<Record<string, (seen: Seen) => string>> = {
  everything: ({ pieces }) => JSON.stringify(pieces),
  bytes: ({ pieces }) => String(pieces.reduce((sum, [, size]) => sum + size, 0)),
  "the largest piece": ({ pieces }) => String(Math.max(...pieces.map(([, size]) => size))),
  "the number of pieces": ({ pieces }) => String(pieces.length),
  "the number of frames": ({ frames }) => String(frames),
  "the last piece's time": ({ pieces }) => String(pieces.at(-1)?.[0]),
}

/** Trains on the first half (most frequent length per feature) and returns the share of correct guesses in the second. */
const guessed = (seen: ReadonlyArray<Seen>, feature: (seen: Seen) => string): number => {
  const counts = new Map<string, Map<number, number>>()
  for (const each of seen.slice(0, seen.length / 2)) {
    const look = counts.get(feature(each)) ?? new Map<number, number>()
    counts.set(feature(each), look.set(each.length, (look.get(each.length) ?? 0) + 1))
  }
  const tried = seen.slice(seen.length / 2)
  const right = tried.filter((each) => {
    const look = [...(counts.get(feature(each)) ?? [])].toSorted((a, b) => b[1] - a[1])
    return look[0]?.[0] === each.length
  })
  return right.length / tried.length
}

describe.each(Object.entries(SPEEDS))("paced answers of %s", (speed, perTick) => {
  it.effect.each(Object.entries(STALLS))("hide their length from observers: %s", ([reading, stall]) =>
    Effect.gen(function* () {
      // Times in statements keep a constant number of digits, like real ones.
      yield* TestClock.setTime(2_000_000)
      const seen: Array<Seen> = []
      for (let done = 0; done < STREAMS * LENGTHS.length; done += AT_ONCE) {
        const said = Array.from({ length: AT_ONCE }, (_, index) => {
          const length = index % LENGTHS.length
          const ticks = TICKS[upTo(TICKS.length)] ?? 0
          const tokens = Math.max(1, Math.round((LENGTHS[length] ?? 0) * perTick * (Math.min(...TICKS) - 1)))
          return { length, ticks, perTick, tokens }
        })
        seen.push(...(yield* watch(said, stall)))
      }
      // Streams of equal duration look alike.
      for (const ticks of TICKS) {
        const looks = new Set(seen.filter((each) => each.ticks === ticks).map(FEATURES["everything"] ?? String))
        assert.strictEqual(looks.size, 1, `${speed}, ${reading}: ${[...looks].slice(0, 2).join("\n")}`)
      }
      const chance = 1 / LENGTHS.length
      // Three standard deviations of random guesses.
      const most = chance + 3 * Math.sqrt((chance * (1 - chance)) / (seen.length / 2))
      for (const [name, feature] of Object.entries(FEATURES)) {
        const share = guessed(seen, feature)
        console.info(`${speed}, ${reading}: by ${name} ${(100 * share).toFixed(1)} % (chance 20 %)`)
        assert.isBelow(share, most, `${speed}, ${reading}: by ${name}`)
      }
    }).pipe(Effect.provide(layer)),
  )
})
