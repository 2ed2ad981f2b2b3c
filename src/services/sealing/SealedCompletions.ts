/**
 * The sealed exchange from end to end: opens a request, has a provider answer it, and seals what comes back. The
 * result is ready to be written out; nothing in it can be read on the path.
 */
import { Clock, Context, Effect, Layer, Metric, Pull, Redacted, Schema, SchemaIssue, type Scope, Stream } from "effect"
import { type Bytes, fromUtf8, utf8 } from "../../domain/bytes.ts"
import { normalize } from "../../domain/chat.ts"
import { isWithinJsonLimits, JSON_LIMITS_DETAIL } from "../../domain/jsonLimits.ts"
import { makeProblem, type Problem } from "../../domain/problem.ts"
import { SealedRequest } from "../../domain/sealedRequest.ts"
import { type EndStatus, MAX_SKEW_MS } from "../../domain/transcript.ts"
import {
  ProviderId,
  type StreamEvent,
  UPSTREAM_TITLE,
  UpstreamError,
  type UpstreamRequest,
} from "../../domain/upstream.ts"
import { type Aborted, Drain } from "../lifecycle/Drain.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { Attestation } from "./Attestation.ts"
import { endRecord, terminalProof } from "./EndRecord.ts"
import { type Envelope, type Opened, type OpeningError, SealedExchange } from "./SealedExchange.ts"
import { framesSealed, openingsFailed, sealedResponses } from "./SealingMetrics.ts"

/** One event of a sealed stream after its `open` event. */
export type SealedEvent =
  | { readonly _tag: "Frame"; readonly seq: number; readonly final: boolean; readonly ciphertext: Bytes }
  | { readonly _tag: "Proof"; readonly proof: string }

export type SealedAnswer =
  | { readonly _tag: "Complete"; readonly responseNonce: Bytes; readonly frames: ReadonlyArray<Bytes> }
  | { readonly _tag: "Stream"; readonly responseNonce: Bytes; readonly events: Stream.Stream<SealedEvent> }
  /** The request was opened but not served. Only the status and the time to wait are readable on the path. */
  | {
      readonly _tag: "Problem"
      readonly status: number
      readonly retryAfterMs: number | undefined
      readonly responseNonce: Bytes
      readonly frames: ReadonlyArray<Bytes>
    }

export class SealedCompletions extends Context.Service<
  SealedCompletions,
  {
    /**
     * Serves one sealed request. The scope belongs to the request: keys and plaintext are overwritten, and a provider
     * call under way is interrupted, when it closes, so it must stay open until a stream is written out.
     */
    readonly handle: (envelope: Envelope) => Effect.Effect<SealedAnswer, OpeningError, Scope.Scope>
  }
>()("sealgate/services/sealing/SealedCompletions") {
  static readonly layer = Layer.effect(
    SealedCompletions,
    Effect.suspend(() => make),
  )
}

/** A request that was opened but will not be served; the problem goes inside the seal. */
class Refused extends Schema.TaggedError<Refused>()("Refused", {
  status: Schema.Int,
  code: Schema.String,
  title: Schema.String,
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  errors: Schema.optionalKey(
    Schema.Redacted(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))),
  ),
}) {}

const tooComplex = () =>
  new Refused({
    status: 400,
    code: "invalid-request",
    title: "The request is nested too deeply, or has too many members.",
    detail: Redacted.make(JSON_LIMITS_DETAIL),
  })

const decodeRequest = Schema.decodeUnknownEffect(Schema.fromJsonString(SealedRequest))
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const problemOf = (error: Refused | UpstreamError | Aborted): Problem => {
  switch (error._tag) {
    case "Aborted":
      return makeProblem({
        code: "draining",
        status: 503,
        title: "The proxy is shutting down; send the request again.",
      })
    case "UpstreamError":
      return makeProblem({
        code: error.code,
        status: error.status,
        title: UPSTREAM_TITLE[error.code],
        ...(error.detail === undefined ? {} : { detail: Redacted.value(error.detail) }),
      })
    case "Refused":
      return makeProblem({
        code: error.code,
        status: error.status,
        title: error.title,
        ...(error.detail === undefined ? {} : { detail: Redacted.value(error.detail) }),
        ...(error.errors === undefined ? {} : { errors: Redacted.value(error.errors) }),
      })
  }
}

const pathOf = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined): string =>
  (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")

/** Decodes the payload of a request; whatever is wrong with it is told inside the seal. */
const readRequest = Effect.fnUntraced(function* (opened: Opened) {
  const request = yield* Effect.try({
    try: () => fromUtf8(opened.payload),
    catch: () => new Refused({ status: 400, code: "invalid-request", title: "The payload is not UTF-8." }),
  }).pipe(
    Effect.filterOrFail(isWithinJsonLimits, tooComplex),
    Effect.flatMap(decodeRequest),
    Effect.catchTag("SchemaError", (error) =>
      Effect.fail(
        new Refused({
          status: 400,
          code: "invalid-request",
          title: "The request does not have the expected shape.",
          errors: Redacted.make(
            formatIssue(error.issue).issues.map((issue) => ({ path: pathOf(issue.path), message: issue.message })),
          ),
        }),
      ),
    ),
    Effect.ensuring(Effect.sync(() => opened.payload.fill(0))),
  )
  if (Math.abs((yield* Clock.currentTimeMillis) - request.issued_at) > MAX_SKEW_MS) {
    yield* Metric.update(openingsFailed("stale"), 1)
    return yield* new Refused({
      status: 400,
      code: "stale",
      title: "The request is too old or from the future.",
      detail: Redacted.make("issued_at must be within 60 s of the proxy's clock; begin a new session to calibrate."),
    })
  }
  const { provider } = request
  if (provider !== undefined && !isProvider(provider)) {
    return yield* new UpstreamError({ code: "provider-not-configured" })
  }
  const upstream: UpstreamRequest = { completion: normalize(request.completion), provider }
  return { id: request.request_id, stream: request.completion.stream === true, upstream }
})

const isProvider = Schema.is(ProviderId)

const json = (value: unknown): Bytes => utf8(JSON.stringify(value))

const make = Effect.gen(function* () {
  const exchange = yield* SealedExchange
  const upstream = yield* Upstream
  const drain = yield* Drain
  const attestation = yield* Attestation

  const count = (form: string, status: string, frames: number) =>
    Effect.andThen(Metric.update(framesSealed, frames), Metric.update(sealedResponses(form, status), 1))

  const refuse = Effect.fnUntraced(function* (opened: Opened, error: Refused | UpstreamError | Aborted) {
    const problem = problemOf(error)
    yield* count("problem", problem.code, 1)
    return {
      _tag: "Problem",
      status: problem.status,
      retryAfterMs: error._tag === "UpstreamError" ? error.retryAfterMs : undefined,
      responseNonce: opened.sealer.responseNonce,
      frames: [opened.sealer.seal("problem", json(problem), true)],
    } satisfies SealedAnswer
  })

  const complete = Effect.fnUntraced(function* (opened: Opened, requestId: string, request: UpstreamRequest) {
    const { completion, served } = yield* Effect.raceFirst(upstream.complete(request), drain.aborted)
    const answer = opened.sealer.seal("complete", json(completion), false)
    const end = yield* endRecord({ opened, requestId, form: "complete", status: "complete", served })
    yield* count("complete", "complete", 2)
    return {
      _tag: "Complete",
      responseNonce: opened.sealer.responseNonce,
      frames: [answer, opened.sealer.seal("complete", end, true)],
    } satisfies SealedAnswer
  })

  const stream = Effect.fnUntraced(function* (opened: Opened, requestId: string, request: UpstreamRequest) {
    const { sealer } = opened
    let seq = 0
    let served: Ending["served"] = {
      provider: request.provider ?? "unknown",
      model: "unknown",
      finishReasons: [],
      usage: null,
    }
    const frame = (payload: Uint8Array, final: boolean): SealedEvent => ({
      _tag: "Frame",
      seq: seq++,
      final,
      ciphertext: sealer.seal("stream", payload, final),
    })

    const end = Effect.fnUntraced(function* (status: EndStatus, problem?: Problem) {
      const record = yield* endRecord({
        opened,
        requestId,
        form: "stream",
        status,
        served,
        ...(problem === undefined ? {} : { problem }),
      })
      const last = frame(record, true)
      yield* count("stream", status, seq)
      return [last, { _tag: "Proof", proof: yield* terminalProof(opened, status) } satisfies SealedEvent] as const
    })

    const sealEvent = (event: StreamEvent): Effect.Effect<ReadonlyArray<SealedEvent>, never, Attestation> => {
      switch (event._tag) {
        case "Delta":
          served = { ...served, provider: event.provider, model: event.chunk.model }
          return Effect.succeed([frame(json({ delta: event.chunk }), false)])
        case "Restarted": {
          const { _tag: _, ...restart } = event
          served = { ...served, provider: event.provider, model: event.model }
          return Effect.succeed([frame(json({ restart }), false)])
        }
        case "Finished":
          served = event.served
          return end("complete")
      }
    }

    // The first event decides whether there is a stream at all: until then a failure is an answer with its status.
    const pull = yield* Stream.toPull(upstream.stream(request))
    const first = yield* Effect.raceFirst(pull, drain.aborted).pipe(
      Pull.catchDone(() => Effect.fail(new UpstreamError({ code: "upstream-truncated" }))),
    )
    const events = Stream.fromArray(first).pipe(
      Stream.concat(Stream.fromPull(Effect.succeed(pull))),
      Stream.interruptWhen(drain.aborted),
      Stream.mapEffect(sealEvent),
      Stream.catch((error) =>
        Stream.fromEffect(end(error._tag === "Aborted" ? "aborted" : "failed", problemOf(error))),
      ),
      Stream.flattenIterable,
      Stream.provideService(Attestation, attestation),
    )
    return { _tag: "Stream", responseNonce: sealer.responseNonce, events } satisfies SealedAnswer
  })

  return SealedCompletions.of({
    handle: Effect.fn("SealedCompletions.handle")(function* (envelope) {
      const opened = yield* exchange.open(envelope)
      return yield* readRequest(opened).pipe(
        Effect.flatMap(
          ({
            id,
            stream: streamed,
            upstream,
          }): Effect.Effect<SealedAnswer, UpstreamError | Aborted, Scope.Scope | Attestation> =>
            streamed ? stream(opened, id, upstream) : complete(opened, id, upstream),
        ),
        Effect.catchTags({
          Refused: (error) => refuse(opened, error),
          UpstreamError: (error) => refuse(opened, error),
          Aborted: (error) => refuse(opened, error),
        }),
        Effect.provideService(Attestation, attestation),
      )
    }),
  })
})

type Ending = Parameters<typeof endRecord>[0]
