/** Spans of provider calls, after OpenTelemetry's semantic conventions for generative AI. They hold no content. */
import { Effect, Tracer } from "effect"
import type { Attempt } from "../../domain/upstream/upstream.ts"
import type { Recorded } from "./AttemptRecords.ts"
import type { Provider } from "./Provider.ts"
import { nameOrOther, OTHER } from "./TargetRegistry.ts"

/** Runs one call in its own client span, if spans are exported. `model` is the label of the target's model. */
export const withCallSpan = <A, E, R>(
  tracer: Tracer.Tracer,
  { apiName, id, server }: Pick<Provider, "apiName" | "id" | "server">,
  model: string,
  cause: Attempt["cause"],
  call: (span: Tracer.Span | undefined) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => {
  if (tracer === Tracer.nativeTracer) return call(undefined)
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": apiName,
    "gen_ai.request.model": model,
    "sealgate.provider": id,
    "sealgate.attempt.cause": cause,
    ...(server === undefined ? {} : { "server.address": server.address, "server.port": server.port }),
  }
  return Effect.useSpan(`chat ${model}`, { kind: "client", attributes }, (span) =>
    // Without a stack frame, which would always name this file.
    Effect.withParentSpan(call(span), span, { captureStackTrace: false }),
  )
}

/**
 * Writes a call's outcome on its span. If the requested model is not named, neither is the served one: providers may
 * repeat the name.
 */
export const annotateCall = (span: Tracer.Span, { attempt, model, served }: Recorded): void => {
  const { outcome, servedModel, usage } = attempt
  if (outcome !== "success") span.attribute("error.type", outcome)
  if (servedModel !== null && model !== OTHER) span.attribute("gen_ai.response.model", servedModel)
  if (served !== undefined && served.finishReasons.length > 0) {
    span.attribute("gen_ai.response.finish_reasons", served.finishReasons.map(nameOrOther))
  }
  if (usage === null) return
  span.attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
  span.attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
}
