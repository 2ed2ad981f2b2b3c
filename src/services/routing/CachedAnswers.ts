/** Answers exact repetitions of a tenant's model calls from memory, while the same routing is in force. */
import { createHash } from "node:crypto"
import { Clock, Context, Duration, Effect, Layer, Queue, Schedule, Stream } from "effect"
import type { RequestUnbounded } from "../../domain/access/budgets.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import type { RoutingSettings, Strategy } from "../../domain/routing/routing.ts"
import { inTurns } from "../inTurns.ts"
import { thisMoment } from "../moments.ts"
import { accountOf } from "./callAndRecord.ts"
import { cachedRecord } from "./Accounting.ts"
import { AnswerStore } from "./AnswerStore.ts"
import type { ApiAnswered, ApiCall } from "./askApi.ts"
import { Ledger } from "./Ledger.ts"
import { Router } from "./Router.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { RoutingConfig } from "./RoutingConfig.ts"
import type { RouterError } from "./RoutingErrors.ts"
import { countRecords } from "./RoutingMetrics.ts"

/** A `ttl` of zero turns the cache off. */
export interface CacheSettings {
  readonly ttl: Duration.Duration
  readonly maxBytes: number
  readonly maxTenantBytes: number
}

/** The use that a request permits (RFC 9111 §5.2.1): `no-cache` asks for a new answer, `no-store` also keeps it out of the cache. */
export type CacheUse = "all" | "no-cache" | "no-store"

interface MaybeCached<A> {
  readonly isCached: boolean
  readonly value: A
}

/** The longest answer that is kept: streams are gathered beside their delivery, many at once. */
export const MAX_ANSWER_BYTES = 1024 * 1024

/** Finish reasons of whole answers; a nearly spent budget can cut one. */
const WHOLE: ReadonlySet<string> = new Set(["stop", "tool_calls", "end_turn", "stop_sequence", "tool_use", "completed"])

/** Approximate memory of an answer beside its text. */
const OVERHEAD = 512
const SWEEP_EVERY = Duration.minutes(1)

interface Stored extends Pick<ApiAnswered, "cost" | "target"> {
  /** UTF-8 of the answer's JSON, or of the pieces of a stream as an array. */
  readonly text: Buffer
}

type CallError = RouterError | RequestUnbounded

export class CachedAnswers extends Context.Service<
  CachedAnswers,
  {
    /** The JSON of a whole answer. */
    readonly answer: (call: ApiCall, use: CacheUse) => Effect.Effect<MaybeCached<string>, CallError>
    /** The pieces of a streamed one. A repetition gets all of them at once. */
    readonly stream: (
      call: ApiCall,
      use: CacheUse,
    ) => Effect.Effect<MaybeCached<Stream.Stream<JsonObject, CallError>>, StorageUnavailable>
  }
>()("sealgate/services/routing/CachedAnswers") {
  static readonly layer = (settings: CacheSettings) =>
    Layer.effect(
      CachedAnswers,
      Effect.gen(function* () {
        const router = yield* Router
        const config = yield* RoutingConfig
        const { configured } = yield* Upstream
        const ttl = Duration.toMillis(settings.ttl)
        const store = new AnswerStore<Stored>({ ...settings, ttl })
        const enter = yield* makeEnter
        if (ttl > 0) {
          yield* thisMoment.pipe(
            Effect.map((now) => store.removeExpired(now)),
            Effect.repeat(Schedule.spaced(SWEEP_EVERY)),
            Effect.forkScoped,
          )
        }

        /**
         * The cached answer to a call, if any, and a function that caches a new one; `undefined` if the call may not
         * use the cache.
         */
        const lookUp = Effect.fnUntraced(function* (call: ApiCall, use: CacheUse) {
          if (ttl === 0 || use === "no-store" || isStateful(call)) return undefined
          const { tenant } = call
          const routing = yield* config.ofCall
          const key = keyOf(call, routing)
          const kept = use === "all" ? store.find(tenant, key, yield* thisMoment) : undefined
          // After an operator removed a provider, its answers must not be served either.
          const found = kept !== undefined && (yield* configured).has(kept.target.provider) ? kept : undefined
          if (found !== undefined) yield* enter(call, routing.strategy, found)
          const keep = ({ cost, served, target }: ApiAnswered, json: string) =>
            Effect.map(thisMoment, (now) => {
              const text = Buffer.from(json)
              if (text.length > MAX_ANSWER_BYTES || !served.finishReasons.every((reason) => WHOLE.has(reason))) return
              store.keep(tenant, key, { answer: { cost, target, text }, bytes: text.length + OVERHEAD }, now)
            })
          return { text: found?.text.toString(), keep }
        })

        const answer = Effect.fnUntraced(function* (call: ApiCall, use: CacheUse) {
          const cache = yield* lookUp(call, use)
          if (cache?.text !== undefined) return { isCached: true, value: cache.text }
          const answered = yield* router.answer(call)
          if (cache !== undefined) yield* cache.keep(answered, answered.json)
          return { isCached: false, value: answered.json }
        })

        const stream = Effect.fnUntraced(function* (call: ApiCall, use: CacheUse) {
          const cache = yield* lookUp(call, use)
          if (cache === undefined) return { isCached: false, value: piecesOf(router, call) }
          if (cache.text !== undefined) {
            // The text was written by `gather` below.
            const pieces = JSON.parse(cache.text) as ReadonlyArray<JsonObject>
            return { isCached: true, value: inTurns(pieces) }
          }
          return { isCached: false, value: gather(router, call, cache.keep) }
        })

        return CachedAnswers.of({ answer, stream })
      }),
    )
}

/** The number of pieces that wait for a slow reader of a stream before reading from its provider pauses. */
const STREAM_BUFFER = 4

/** The pieces of a streamed answer. `onAnswered` runs after the last one, before the stream ends. */
const piecesOf = (
  router: Router["Service"],
  call: ApiCall,
  onAnswered: (answered: ApiAnswered) => void = () => {},
): Stream.Stream<JsonObject, CallError> =>
  Stream.callback(
    (queue) =>
      router
        .stream(call, (events) =>
          Queue.offerAll(
            queue,
            events.flatMap((event) => (event._tag === "Delta" ? [event.chunk] : [])),
          ),
        )
        .pipe(Effect.map(onAnswered), Effect.andThen(Queue.end(queue))),
    { bufferSize: STREAM_BUFFER },
  )

/** Passes a stream on, and keeps it if it ends without failure. */
const gather = (
  router: Router["Service"],
  call: ApiCall,
  keep: (answered: ApiAnswered, json: string) => Effect.Effect<void>,
) =>
  Stream.suspend(() => {
    let answered: ApiAnswered | undefined
    let texts: Array<string> = []
    let bytes = 0
    const add = (piece: JsonObject) => {
      if (bytes > MAX_ANSWER_BYTES) return
      const text = JSON.stringify(piece)
      bytes += Buffer.byteLength(text)
      if (bytes > MAX_ANSWER_BYTES) texts = []
      else texts.push(text)
    }
    return piecesOf(router, call, (made) => (answered = made)).pipe(
      Stream.map((piece) => {
        add(piece)
        return piece
      }),
      Stream.onEnd(
        Effect.suspend(() =>
          answered === undefined || bytes > MAX_ANSWER_BYTES ? Effect.void : keep(answered, `[${texts.join(",")}]`),
        ),
      ),
    )
  })

/** A call that adds to a conversation at the provider must reach it. */
const isStateful = ({ request }: ApiCall): boolean => request.body.has("conversation")

/** Limits of the key decide which targets may answer, and how long the answer may be. */
const keyOf = ({ budgeted = [], keyPolicy, request, tenant }: ApiCall, routing: RoutingSettings): string => {
  const budgets = budgeted.map((of) => of.budgets)
  const decides = [tenant, request.api, request.headers, keyPolicy ?? null, budgets, routing.version]
  // JSON has no line breaks, so no other pair of the two has the same bytes.
  return createHash("sha256")
    .update(`${JSON.stringify(decides)}\n`)
    .update(request.body.bytes)
    .digest("base64url")
}

const makeEnter = Effect.gen(function* () {
  const ledger = yield* Ledger
  return Effect.fnUntraced(function* ({ key, labels, tenant }: ApiCall, strategy: Strategy, { cost, target }: Stored) {
    const account = accountOf({ key, labels, tenant })
    const record = cachedRecord(yield* Clock.currentTimeMillis, { account, strategy, target }, cost)
    yield* ledger.record([record])
    countRecords([record], yield* Effect.context<never>())
  })
})
