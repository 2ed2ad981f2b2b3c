/** The configured models in the form of OpenAI's API. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { described } from "../described.ts"

export const Models = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      object: Schema.Literal("model"),
      created: Schema.Literal(0).annotate({
        description: "Always 0: the time is unknown, but the format requires it.",
      }),
      owned_by: Schema.String.annotate({ description: "The provider that serves the model." }),
    }),
  ),
})

export class ModelsApi extends HttpApiGroup.make("models", { topLevel: true })
  .add(
    HttpApiEndpoint.get("models", "/v1/models", { success: Models }).annotateMerge(
      described(
        "Models",
        "The default model of every configured provider, in order. The list is not signed, and requests may name other models.",
      ),
    ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Models", description: "The available models." })) {}
