import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  SecretInfo,
  ProviderKeyElsewhere,
  ProviderTakesNoKey,
  PutSecret,
  SecretName,
  SecretNotFound,
  SecretsOff,
  TooManySecrets,
} from "../../domain/access/secrets.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { NeededRole } from "./Authorization.ts"
import { described } from "../described.ts"

const params = { name: SecretName.annotate({ description: "The secret's name." }) }

export class SecretsApi extends HttpApiGroup.make("secrets")
  .add(
    HttpApiEndpoint.get("list", "/", {
      success: Schema.Struct({ items: Schema.Array(SecretInfo) }),
    })
      .annotate(NeededRole, "manage")
      .annotateMerge(described("List secrets", "By name, without their values.")),
    HttpApiEndpoint.put("put", "/:name", {
      params,
      payload: PutSecret,
      success: SecretInfo,
      error: [SecretsOff, TooManySecrets, ProviderTakesNoKey, ProviderKeyElsewhere, ...BODY_PROBLEMS],
    }).annotateMerge(
      described(
        "Set a secret",
        "With `origin`, a bearer token that tools and MCP servers name as their `secret`. With `provider`, the tenant's own key of a model provider, which its calls use within a second instead of the operator's. It is stored encrypted, sent only there, and never shown.",
      ),
    ),
    HttpApiEndpoint.delete("remove", "/:name", {
      params,
      success: HttpApiSchema.NoContent,
      error: [SecretNotFound],
    }).annotateMerge(
      described(
        "Delete a secret",
        "Tools that name it can no longer be called. Calls of its provider use the operator's key, if there is one.",
      ),
    ),
  )
  .prefix("/api/v1/secrets")
  .annotateMerge(
    OpenApi.annotations({
      title: "Secrets",
      description: "Credentials of agents' tools, and keys of model providers.",
    }),
  ) {}
