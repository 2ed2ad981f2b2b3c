/** Spans of provider calls after OpenTelemetry's semantic conventions for generative AI; never any content. */
import { Effect } from "effect"
import type { Attempt, Served } from "../../domain/upstream.ts"
import type { Provider } from "./Provider.ts"
import { nameOrOther, OTHER } from "./TargetRegistry.ts"

/** Runs one call in a client span of its own. `model` is the label of the target's model. */
export const withCallSpan = (
  { apiName, id, server }: Pick<Provider, "apiName" | "id" | "server">,
  model: string,
  cause: Attempt["cause"],
) =>
  Effect.withSpan(
    `chat ${model}`,
    {
      kind: "client",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": apiName,
        "gen_ai.request.model": model,
        "sealgate.provider": id,
        "sealgate.attempt.cause": cause,
        ...(server === undefined ? {} : { "server.address": server.address, "server.port": server.port }),
      },
    },
    // It would only ever name this file.
    { captureStackTrace: false },
  )

/**
 * Writes on the span of a call how it ended. `model` is the label of the target's model: where that is not named, what
 * the provider calls it is not either, because some providers say back whatever they were asked for.
 */
export const annotateCall = (attempt: Attempt, model: string, served: Served | undefined): Effect.Effect<void> =>
  Effect.annotateCurrentSpan({
    ...(attempt.outcome === "success" ? {} : { "error.type": attempt.outcome }),
    ...(attempt.servedModel === null || model === OTHER ? {} : { "gen_ai.response.model": attempt.servedModel }),
    ...(served === undefined || served.finishReasons.length === 0
      ? {}
      : { "gen_ai.response.finish_reasons": served.finishReasons.map(nameOrOther) }),
    ...(attempt.usage === null
      ? {}
      : {
          "gen_ai.usage.input_tokens": attempt.usage.prompt_tokens,
          "gen_ai.usage.output_tokens": attempt.usage.completion_tokens,
        }),
  })
