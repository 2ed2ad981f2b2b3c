import { Duration, Effect, Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { withoutUndefined } from "../../../src/domain/json/withoutUndefined.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { Problem } from "../../../src/domain/problems/problem.ts"
import { type ApiEvent, type ApiRequest, type Served, UpstreamError } from "../../../src/domain/upstream/upstream.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { attempt } from "../../services/routing/ScriptedUpstream.ts"
import { isPacedExchange, type PublishedExchange } from "./published.ts"
import { type Finished, streaming } from "../streamed.ts"

type Restarted = Extract<ApiEvent, { readonly _tag: "Restarted" }>

/** The upstream error behind a published problem. */
const errorOf = (problem: Problem | undefined): UpstreamError => {
  const { detail, provider_error: error, provider_status: status } = problem ?? {}
  return new UpstreamError({
    code: problem?.code === "invalid-request" ? problem.code : "provider-not-configured",
    ...(detail === undefined ? {} : { detail: Redacted.make(detail) }),
    ...(error === undefined ? {} : { said: Redacted.make({ error, ...withoutUndefined({ status }) }) }),
  })
}

/**
 * An upstream that replays the answers of a published exchange with their delays, and adds each request to `asked`.
 */
export const layerPublishedUpstream = (exchange: PublishedExchange, asked: Array<ApiRequest>) => {
  const { completed_at_ms, received_at_ms, response } = exchange
  const claims = response.receipt_claims ?? {}
  // The file is our own: its claims and payloads have the shapes that the protocol gives them.
  const served = {
    provider: claims["provider"],
    model: claims["model"],
    finishReasons: claims["finish_reasons"],
    usage: claims["usage"],
  } as Served
  const payloads = response.frames
    .slice(0, -1)
    .map(({ payload }) => JSON.parse(payload) as Record<string, unknown> | null)
  /** One entry per received piece. */
  const arrivals = payloads.map((payload) => {
    const { deltas, restart } = payload ?? {}
    const restarts: ReadonlyArray<ApiEvent> =
      restart === undefined ? [] : [{ _tag: "Restarted", ...(restart as Omit<Restarted, "_tag">) }]
    const chunks = Array.isArray(deltas) ? (deltas as ReadonlyArray<JsonObject>) : []
    return [...restarts, ...chunks.map((chunk): ApiEvent => ({ _tag: "Delta", provider: "provider1", chunk }))]
  })
  const passTime = TestClock.adjust(Duration.millis(completed_at_ms - received_at_ms))
  const record = (request: ApiRequest) => Effect.sync(() => asked.push(request))
  const finished = Stream.make({ _tag: "Finished", served, attempts: [] } satisfies Finished)
  const interrupted = Stream.fail(new UpstreamError({ code: "upstream-interrupted" }))
  const { problem } = JSON.parse(response.frames.at(-1)?.payload ?? "{}") as { readonly problem?: Problem }
  /** Reports each called provider, as the fault policy does. */
  const refuse = ({ onAttempt }: ApiRequest) =>
    Effect.suspend(() => {
      if (served.provider !== null) onAttempt?.(attempt(served, { outcome: "invalid-request" }))
      return Effect.andThen(passTime, Effect.fail(errorOf(problem)))
    })
  const isComplete = claims["status"] === "complete"
  const isPaced = isPacedExchange(exchange)
  const answered = Stream.fromIterable(arrivals.entries()).pipe(
    // Pieces of a paced stream arrive midway between two ticks.
    Stream.tap(([index]) => (isPaced ? Effect.sleep(Duration.millis(index === 0 ? 50 : 100)) : Effect.void)),
    Stream.flatMap(([, events]) => Stream.fromArray(events)),
  )
  return Layer.mock(Upstream)({
    request: (request) =>
      Effect.andThen(
        record(request),
        isComplete
          ? Effect.as(passTime, { json: response.frames[0]?.payload ?? "", served, attempts: [] })
          : refuse(request),
      ),
    requestStreamTo: streaming((request: ApiRequest) =>
      Stream.fromEffectDrain(record(request)).pipe(
        Stream.concat(answered),
        Stream.concat(isPaced ? Stream.empty : Stream.fromEffectDrain(passTime)),
        Stream.concat(isComplete ? finished : interrupted),
      ),
    ),
  })
}
