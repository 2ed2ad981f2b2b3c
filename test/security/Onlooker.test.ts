/** An observer of every byte on the wire learns only the size of an answer, in steps, and the time. */
import { setTimeout as wait } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { parseObject, string, strings } from "../../src/client/verification/decode.ts"
import { ResponseOpener } from "../../src/client/sealed/ResponseOpener.ts"
import type { SentRequest } from "../../src/client/sealed/sealRequest.ts"
import type { ClientSession } from "../../src/client/sealed/session.ts"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import type { ChatChunk } from "../../src/domain/chat/chat.ts"
import { isObject } from "../../src/domain/json/json.ts"
import { FLOOR, pad } from "../../src/domain/protocol/padding.ts"
import { joinContent } from "../../src/domain/protocol/sealedContent.ts"
import { UpstreamError } from "../../src/domain/upstream/upstream.ts"
import { layerEchoWith } from "../support/echo.ts"
import { fault } from "../support/FakeUpstream.ts"
import { type RunningProxy, startProxy } from "../support/proxy.ts"
import { type RawAnswer, rawConnection } from "../support/rawExchange.ts"
import { beginSession, seal, sealBlock } from "../support/sealing.ts"
import { sealedSetup } from "../support/sealedSetup.ts"
import { type ApiStreamedEvent, type Finished, streaming } from "../support/streamed.ts"

const EXCHANGES = 200
const CONNECTIONS = 20

/** An answer without its random parts: long strings are replaced by their length. */
const looksOf = ({ chunks, head }: RawAnswer): string =>
  JSON.stringify([
    head,
    ...chunks.map((chunk) => [chunk.length, chunk.replace(/"[\w-]{32,}"/g, ({ length }) => `${length}`)]),
  ])

/** Payloads that are none, in every way in which one can be. */
const INVALID = ["", "no JSON", "{}", "[]", "null", '{"a":1,"a":2}', '{"request_id":1,"issued_at":"x"}', '"\\ud800"']

/** Exchanges that come to the same end. */
interface Kind {
  readonly proxy: RunningProxy
  readonly ask: (
    n: number,
  ) => (session: ClientSession) => Promise<{ readonly body: object; readonly sent?: SentRequest }>
  readonly code: string | undefined
}

/** Opens a complete answer and returns the code of its problem, if it has one. */
const codeIn = async (sent: SentRequest, { chunks }: RawAnswer): Promise<unknown> => {
  const body = parseObject(chunks.join(""), "the answer")
  const opener = await ResponseOpener.begin(sent, new Map(), { form: "complete" }, string(body, "response_nonce"))
  const [answer = "", end = ""] = strings(body, "frames")
  await opener.openAnswer(answer)
  const { problem } = await opener.open(end, true)
  return isObject(problem) ? problem["code"] : undefined
}

describe("complete answers on the wire", () => {
  it.live("look alike, whether answered, filtered, out of time or never understood", () =>
    Effect.gen(function* () {
      const patient = yield* sealedSetup({ sessionMaxRequests: 10_000 })
      const hasty = yield* sealedSetup({
        sessionMaxRequests: 10_000,
        answerTimeout: Duration.millis(50),
        circuitSlow: 100_000,
      })
      patient.fake.when(({ text }) => text.startsWith("filter")).always(fault.contentFiltered())
      patient.fake
        .when(({ text }) => text.startsWith("answer"))
        .always(({ text }) => ({
          text: text.repeat(1 + (text.length % 9)),
          usage: text.length % 2 === 0 ? null : { input: text.length ** 5, output: text.length ** 3 },
        }))
      hasty.fake.always(fault.silence)
      const asking = (prompt: string) => async (session: ClientSession) => {
        const sent = await seal(session, { prompt })
        return { body: sent.body, sent }
      }
      const kinds: ReadonlyArray<Kind> = [
        { proxy: patient.proxy, ask: (n) => asking(`answer ${n}`), code: undefined },
        { proxy: patient.proxy, ask: (n) => asking(`filter ${n}`), code: "content-filtered" },
        { proxy: hasty.proxy, ask: () => asking("slow"), code: "upstream-timeout" },
        {
          proxy: patient.proxy,
          ask: (n) => async (session) => {
            const payload = utf8(INVALID[n % INVALID.length] ?? "")
            return { body: await sealBlock(session, pad(joinContent("", payload), FLOOR)) }
          },
          code: "invalid-request",
        },
      ]
      const looks = new Map<string, number>()
      for (const { ask, code, proxy } of kinds) {
        const connections = yield* Effect.all(Array.from({ length: CONNECTIONS }, () => rawConnection(proxy.port)))
        const left = Array.from({ length: EXCHANGES }, (_, n) => n)
        yield* Effect.promise(async () => {
          const session = await beginSession(proxy)
          await Promise.all(
            connections.map(async (connection) => {
              for (let n = left.pop(); n !== undefined; n = left.pop()) {
                const { body, sent } = await ask(n)(session)
                connection.send("/v1/completions", body)
                const answer = await connection.until(({ ended }) => ended)
                const look = looksOf(answer)
                looks.set(look, (looks.get(look) ?? 0) + 1)
                // The exchange ended as intended.
                if (sent !== undefined) assert.strictEqual(await codeIn(sent, answer), code)
              }
            }),
          )
        })
      }
      assert.deepStrictEqual([...looks.values()], [kinds.length * EXCHANGES], [...looks.keys()].join("\n"))
      assert.match([...looks.keys()][0] ?? "", /^\["HTTP\/1\.1 200 OK\\r\\n.*no-store, no-transform/)
      assert.notMatch([...looks.keys()][0] ?? "", /retry-after|ratelimit|trace|server-timing/i)
      assert.strictEqual(patient.fake.requests.length, 2 * EXCHANGES)
    }),
  )
})

describe("paced streams on the wire", () => {
  const PACE = 100
  const LASTS = 1950

  const chunkOf = (content: string): ChatChunk => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "model-1",
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  })
  const FINISHED: Finished = {
    _tag: "Finished",
    served: { provider: "provider1", model: "model-1", finishReasons: ["stop"], usage: null },
    attempts: [],
  }

  /** Tokens, and when each comes, in milliseconds. */
  type Said = ReadonlyArray<readonly [at: number, token: string]>
  const evenly = (count: number, token: (n: number) => string): Said =>
    Array.from({ length: count }, (_, n) => [((n + 0.5) * LASTS) / count, token(n)] as const)

  interface Scripted {
    readonly said: Said
    readonly end: Stream.Stream<ApiStreamedEvent, UpstreamError>
    /** When it ends; by default soon after its last token, which then still waits for the next tick. */
    readonly after?: number
  }

  /** Streams with equally long waits, different content, and different ends. */
  const STREAMS: Readonly<Record<string, Scripted>> = {
    "20 tokens": { said: evenly(20, (n) => `token ${n} `), end: Stream.make(FINISHED) },
    "400 tokens": { said: evenly(400, () => "to "), end: Stream.make(FINISHED) },
    "tokens of one letter": { said: evenly(100, () => "i"), end: Stream.make(FINISHED) },
    "tokens of thirty letters now and then": {
      said: evenly(100, (n) => (n % 3 === 0 ? "w".repeat(30) : ".")),
      end: Stream.make(FINISHED),
    },
    "tokens in bursts": {
      said: evenly(100, () => "word ").map(([at, token]) => [Math.ceil(at / 390) * 390, token] as const),
      end: Stream.make(FINISHED),
    },
    "one token, at the end": { said: [[LASTS, "late"]], end: Stream.make(FINISHED) },
    "a failure after some tokens": {
      said: evenly(7, () => "word "),
      end: Stream.fail(new UpstreamError({ code: "upstream-truncated" })),
      after: LASTS + PACE,
    },
    "nothing but a failure": {
      said: [],
      end: Stream.fail(new UpstreamError({ code: "upstream-timeout" })),
      after: LASTS + PACE,
    },
  }

  const upstream = layerEchoWith(() => ({
    requestStreamTo: streaming(({ body }) =>
      Stream.unwrap(
        Effect.clockWith((clock) =>
          Effect.map(clock.currentTimeMillis, (begun) => {
            const stream = Object.entries(STREAMS).find(([prompt]) => body.text.includes(JSON.stringify(prompt)))?.[1]
            if (stream === undefined) return Stream.die("no such stream")
            const until = (at: number) =>
              Effect.flatMap(clock.currentTimeMillis, (now) => Effect.sleep(Math.max(0, begun + at - now)))
            return Stream.fromIterable(stream.said).pipe(
              Stream.rechunk(1),
              Stream.mapEffect(([at, token]) =>
                Effect.as(until(at), { _tag: "Delta", provider: "provider1", chunk: chunkOf(token) } as const),
              ),
              Stream.concat(Stream.unwrap(Effect.as(until(stream.after ?? LASTS), stream.end))),
            )
          }),
        ),
      ),
    ),
  }))

  /** The same length for every ciphertext and statement of one length; a statement has the time of day in it. */
  const shapeOf = (chunk: string): string =>
    `${chunk.length} ${chunk.replace(/"[\w.-]{32,}"/g, ({ length }) => `${length}`).replaceAll("\n", "|")}`

  it.effect("have the same sizes and gaps, whatever arrived when, and however the stream ended", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({ upstream })
      const session = yield* Effect.promise(() => beginSession(proxy))
      const watched = yield* Effect.forEach(Object.keys(STREAMS), (prompt) =>
        Effect.gen(function* () {
          const connection = yield* rawConnection(proxy.port)
          yield* Effect.promise(async () => {
            connection.send("/v1/completions", (await seal(session, { prompt, stream: true }, { pace: PACE })).body)
            await connection.until(({ chunks }) => chunks.length === 1)
          })
          return { prompt, connection, sequence: [] as Array<string>, seen: 1 }
        }),
      )
      for (let now = PACE / 2; now <= 25 * PACE; now += PACE / 2) {
        yield* TestClock.adjust(PACE / 2)
        const isTick = now % PACE === 0
        yield* Effect.promise(async () => {
          for (const each of watched) {
            const { connection, seen } = each
            // At each tick a frame is due. Between two ticks, everything on its way arrives.
            if (isTick) await connection.until(({ chunks, ended }) => ended || chunks.length > seen)
          }
          await wait(2)
        })
        for (const each of watched) {
          const { chunks } = each.connection.answer()
          for (const chunk of chunks.slice(each.seen)) each.sequence.push(`${now} ms: ${shapeOf(chunk)}`)
          each.seen = chunks.length
        }
      }
      for (const { connection, prompt } of watched) assert.isTrue(connection.answer().ended, prompt)
      const [first, ...others] = watched
      // The end record and the proof go together, at the tick after the last one that had something to say.
      assert.lengthOf(first?.sequence ?? [], Math.ceil(LASTS / PACE) + 1)
      for (const { prompt, sequence } of others) assert.deepStrictEqual(sequence, first?.sequence, prompt)
      const heads = new Set(watched.map(({ connection }) => connection.answer().head))
      assert.lengthOf([...heads], 1)
    }),
  )
})
