/** The models, as OpenAI's API lists them: those that the operator configured, regardless of what was called since. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Refusals } from "../problems.ts"

export const Models = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      object: Schema.Literal("model"),
      /** The time is not known here, but the format demands a number. */
      created: Schema.Literal(0),
      /** The provider that serves it. */
      owned_by: Schema.String,
    }),
  ),
})

export class ModelsApi extends HttpApiGroup.make("models", { topLevel: true })
  .add(
    HttpApiEndpoint.get("models", "/v1/models", { success: Models }).annotateMerge(
      OpenApi.annotations({
        summary: "Models",
        description:
          "The default model of every configured provider, in their order. It is not signed: a list, not a promise, and requests may name others.",
      }),
    ),
  )
  .middleware(Refusals)
  .annotateMerge(OpenApi.annotations({ title: "Models", description: "Which models there are." })) {}
