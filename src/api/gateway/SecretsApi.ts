import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { PutSecret, SecretName, SecretNotFound, SecretsOff, TooManySecrets } from "../../domain/access/secrets.ts"
import { StorageUnavailable } from "../../domain/operations/storage.ts"
import { BODY_PROBLEMS, Refusals } from "../problems.ts"
import { Authorization, NeededRole } from "./Authorization.ts"
import { SecretInfo } from "./resources.ts"

const params = { name: SecretName.annotate({ description: "The secret's name." }) }

export class SecretsApi extends HttpApiGroup.make("secrets")
  .add(
    HttpApiEndpoint.get("list", "/", {
      success: Schema.Struct({ items: Schema.Array(SecretInfo) }),
      error: StorageUnavailable,
    })
      .annotate(NeededRole, "manage")
      .annotateMerge(OpenApi.annotations({ summary: "List secrets", description: "By name, without their values." })),
    HttpApiEndpoint.put("put", "/:name", {
      params,
      payload: PutSecret,
      success: SecretInfo,
      error: [SecretsOff, TooManySecrets, ...BODY_PROBLEMS, StorageUnavailable],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set a secret",
        description:
          "A bearer token that tools and MCP servers name as their `secret`. It is stored encrypted, sent to its origin only, and shown by no answer.",
      }),
    ),
    HttpApiEndpoint.delete("remove", "/:name", {
      params,
      success: HttpApiSchema.NoContent,
      error: [SecretNotFound, StorageUnavailable],
    }).annotateMerge(
      OpenApi.annotations({ summary: "Delete a secret", description: "Tools that name it are called no more." }),
    ),
  )
  .middleware(Authorization)
  .middleware(Refusals)
  .prefix("/api/v1/secrets")
  .annotateMerge(OpenApi.annotations({ title: "Secrets", description: "Credentials of agents' tools." })) {}
