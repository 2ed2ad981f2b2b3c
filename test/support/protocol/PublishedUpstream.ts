import { Duration, Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ChatChunk, ChatCompletion } from "../../../src/domain/chat.ts"
import { type Served, type StreamEvent, UpstreamError, type UpstreamRequest } from "../../../src/domain/upstream.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import type { PublishedExchange } from "./published.ts"

type Restarted = Extract<StreamEvent, { readonly _tag: "Restarted" }>

/**
 * Answers what the providers of a published exchange answered, after the time that they took. What it is asked ends up
 * in `asked`.
 */
export const layerPublishedUpstream = (exchange: PublishedExchange, asked: Array<UpstreamRequest>) => {
  const { completed_at_ms, received_at_ms, response } = exchange
  const claims = response.receipt_claims ?? {}
  // The file is our own: its claims and payloads have the shapes that the protocol gives them.
  const served = {
    provider: claims["provider"],
    model: claims["model"],
    finishReasons: claims["finish_reasons"],
    usage: claims["usage"],
  } as Served
  const payloads = response.frames.map(({ payload }) => JSON.parse(payload) as Record<string, unknown>)
  const events = payloads
    .slice(0, -1)
    .map(({ delta, restart }): StreamEvent =>
      restart === undefined
        ? { _tag: "Delta", provider: "provider1", chunk: delta as ChatChunk }
        : { _tag: "Restarted", ...(restart as Omit<Restarted, "_tag">) },
    )
  const passTime = TestClock.adjust(Duration.millis(completed_at_ms - received_at_ms))
  const record = (request: UpstreamRequest) => Effect.sync(() => asked.push(request))
  return Layer.mock(Upstream)({
    complete: (request) =>
      exchange.form === "complete"
        ? Effect.andThen(
            record(request),
            Effect.as(passTime, { completion: payloads[0] as ChatCompletion, served, attempts: [] }),
          )
        : Effect.andThen(record(request), Effect.fail(new UpstreamError({ code: "provider-not-configured" }))),
    stream: (request) =>
      Stream.fromEffectDrain(record(request)).pipe(
        Stream.concat(Stream.fromIterable(events)),
        Stream.concat(Stream.fromEffectDrain(passTime)),
        Stream.concat(Stream.make({ _tag: "Finished", served, attempts: [] } satisfies StreamEvent)),
      ),
  })
}
