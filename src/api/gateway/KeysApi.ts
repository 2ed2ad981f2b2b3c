import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { NewKey, GatewayKey, CreateKey, KeyNotFound, UpdateKey } from "../../domain/access/keys.ts"
import { CursorInvalid } from "../../domain/operations/storage.ts"
import { described } from "../described.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { NeededRole } from "./Authorization.ts"
import { LIST, pageOf, pageQuery } from "./lists.ts"

const params = { id: Schema.String.annotate({ description: "The key's id." }) }

const KeyPage = pageOf(GatewayKey)

export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateKey,
      success: HttpApiSchema.WithHeaders(NewKey, { location: Schema.String }).pipe(HttpApiSchema.status(201)),
      error: [...BODY_PROBLEMS],
    }).annotateMerge(
      described("Create a key", "The answer shows the key, once. Only administrators give the role `admin`."),
    ),
    HttpApiEndpoint.get("list", "/", {
      query: pageQuery,
      success: KeyPage,
      error: [CursorInvalid],
    })
      .annotate(NeededRole, "manage")
      .annotateMerge(described("List keys", LIST)),
    HttpApiEndpoint.get("get", "/:id", {
      params,
      success: GatewayKey,
      error: [KeyNotFound],
    })
      .annotate(NeededRole, "manage")
      .annotateMerge(described("Read a key", "Without its secret.")),
    HttpApiEndpoint.patch("update", "/:id", {
      params,
      payload: UpdateKey,
      success: GatewayKey,
      error: [KeyNotFound, ...BODY_PROBLEMS],
    }).annotateMerge(
      described(
        "Change a key",
        "Given members replace the key's, `null` removes an optional one. In force within a second.",
      ),
    ),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [KeyNotFound],
    }).annotateMerge(
      described(
        "Revoke a key",
        "Every gateway refuses it within a second. Its jobs continue, but its schedules create no more.",
      ),
    ),
  )
  .prefix("/api/v1/keys")
  .annotateMerge(OpenApi.annotations({ title: "Keys", description: "Keys of the tenant's programs and people." })) {}
