import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CreateKey, KeyNotFound, UpdateKey } from "../../domain/access/keys.ts"
import { CursorInvalid, StorageUnavailable } from "../../domain/operations/storage.ts"
import { described } from "../described.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { NeededRole } from "./Authorization.ts"
import { LIST, pageOf, pageQuery } from "./lists.ts"
import { GatewayKey, NewKey } from "./resources.ts"

const params = { id: Schema.String.annotate({ description: "The key's id." }) }

const KeyPage = pageOf(GatewayKey)

export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateKey,
      success: HttpApiSchema.WithHeaders(NewKey, { location: Schema.String }).pipe(HttpApiSchema.status(201)),
      error: [...BODY_PROBLEMS, StorageUnavailable],
    }).annotateMerge(
      described("Create a key", "The answer shows the key, once. Only administrators give the role `admin`."),
    ),
    HttpApiEndpoint.get("list", "/", {
      query: pageQuery,
      success: KeyPage,
      error: [CursorInvalid, StorageUnavailable],
    })
      .annotate(NeededRole, "manage")
      .annotateMerge(described("List keys", LIST)),
    HttpApiEndpoint.get("get", "/:id", {
      params,
      success: GatewayKey,
      error: [KeyNotFound, StorageUnavailable],
    })
      .annotate(NeededRole, "manage")
      .annotateMerge(described("Read a key", "Without its secret.")),
    HttpApiEndpoint.patch("update", "/:id", {
      params,
      payload: UpdateKey,
      success: GatewayKey,
      error: [KeyNotFound, ...BODY_PROBLEMS, StorageUnavailable],
    }).annotateMerge(
      described(
        "Change a key",
        "Given members replace the key's, `null` removes an optional one. In force within a second.",
      ),
    ),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [KeyNotFound, StorageUnavailable],
    }).annotateMerge(
      described(
        "Revoke a key",
        "Every gateway refuses it within a second. Its jobs continue, but its schedules create no more.",
      ),
    ),
  )
  .prefix("/api/v1/keys")
  .annotateMerge(OpenApi.annotations({ title: "Keys", description: "Keys of the tenant's programs and people." })) {}
