/** A provider's stream as sealed events, up to the end record and the terminal proof. */
import { Effect, Metric, Pull, Stream } from "effect"
import { type Bytes, utf8 } from "../../domain/bytes.ts"
import type { ChatChunk } from "../../domain/chat.ts"
import type { Problem } from "../../domain/problem.ts"
import { iJsonOf, PairJoiner } from "../../domain/surrogates.ts"
import type { EndStatus } from "../../domain/transcript.ts"
import { type StreamEvent, UpstreamError, type UpstreamRequest } from "../../domain/upstream.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { Attestation } from "./Attestation.ts"
import { endingNow, endRecord, type Ending, terminalProof } from "./EndRecord.ts"
import type { Opened } from "./SealedExchange.ts"
import { problemOf } from "./sealedProblem.ts"
import { sealFrame } from "./sealFrame.ts"
import { sealedResponses } from "./SealingMetrics.ts"
import { defined } from "../../domain/defined.ts"

/** One event of a sealed stream after its `open` event. */
export type SealedEvent =
  | { readonly _tag: "Frame"; readonly seq: number; readonly final: boolean; readonly ciphertext: Bytes }
  | { readonly _tag: "Proof"; readonly proof: string }

/**
 * Begins a stream. Fails if it ends or breaks before its first event; afterwards the events say how it ended, whatever
 * happens. A stream that is not read to its end is counted as abandoned when the scope closes.
 */
export const sealStream = Effect.fnUntraced(function* (opened: Opened, requestId: string, request: UpstreamRequest) {
  const upstream = yield* Upstream
  const drain = yield* Drain
  const attestation = yield* Attestation
  const { sealer } = opened
  let seq = 0
  let served: Ending["served"] = {
    provider: request.provider ?? "unknown",
    model: "unknown",
    finishReasons: [],
    usage: null,
  }
  const joiner = new PairJoiner()
  let ended = false

  const frame = (payload: Uint8Array, final: boolean): Effect.Effect<SealedEvent> =>
    Effect.map(sealFrame(sealer, "stream", payload, final), (ciphertext) => ({
      _tag: "Frame",
      seq: seq++,
      final,
      ciphertext,
    }))

  const data = (payload: unknown) => frame(utf8(iJsonOf(payload)), false)
  const deltas = (chunks: ReadonlyArray<ChatChunk>) => Effect.forEach(chunks, (delta) => data({ delta }))

  const end = Effect.fnUntraced(function* (status: EndStatus, problem?: Problem) {
    const endedAt = yield* endingNow(opened)
    const record = yield* endRecord({
      opened,
      endedAt,
      requestId,
      form: "stream",
      status,
      served,
      ...defined({ problem }),
    })
    const last = yield* frame(record, true)
    ended = true
    yield* Metric.update(sealedResponses("stream", status), 1)
    const proof = yield* terminalProof(opened, status, endedAt)
    return [last, { _tag: "Proof", proof }] satisfies ReadonlyArray<SealedEvent>
  })

  const sealEvent = (event: StreamEvent): Effect.Effect<ReadonlyArray<SealedEvent>, never, Attestation> => {
    switch (event._tag) {
      case "Delta":
        served = { ...served, provider: event.provider, model: event.chunk.model }
        return deltas(joiner.add(event.chunk))
      case "Restarted": {
        const { _tag: _, ...restart } = event
        served = { ...served, provider: event.provider, model: event.model }
        joiner.clear()
        return Effect.map(data({ restart }), (sealed) => [sealed])
      }
      case "Finished":
        served = event.served
        return Effect.zipWith(deltas(joiner.end()), end("complete"), (held, end) => [...held, ...end])
    }
  }

  // The first event decides whether there is a stream at all: until then a failure is an answer with its status.
  const pull = yield* Stream.toPull(upstream.stream(request))
  const first = yield* Effect.raceFirst(pull, drain.aborted).pipe(
    Pull.catchDone(() => Effect.fail(new UpstreamError({ code: "upstream-truncated" }))),
  )
  yield* Effect.addFinalizer(() => (ended ? Effect.void : Metric.update(sealedResponses("stream", "abandoned"), 1)))
  return Stream.fromArray(first).pipe(
    Stream.concat(Stream.fromPull(Effect.succeed(pull))),
    Stream.interruptWhen(drain.aborted),
    Stream.mapEffect(sealEvent),
    Stream.catch((error) => Stream.fromEffect(end(error._tag === "Aborted" ? "aborted" : "failed", problemOf(error)))),
    Stream.flattenIterable,
    Stream.provideService(Attestation, attestation),
  )
})
