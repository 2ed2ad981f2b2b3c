import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { scope } from "./lists.ts"
import { described } from "../described.ts"

const ChangeOnWire = Schema.Struct({
  id: Schema.optionalKey(Schema.UndefinedOr(Schema.String)),
  event: Schema.Literal("changed").annotate({ description: "Jobs or calls changed; read again what you show." }),
  data: Schema.fromJsonString(Schema.Struct({})),
})

export class ChangesApi extends HttpApiGroup.make("changes")
  .add(
    HttpApiEndpoint.get("follow", "/changes", {
      query: { scope },
      success: HttpApiSchema.StreamSse({ events: ChangeOnWire }),
    }).annotateMerge(
      described(
        "Follow the changes of a tenant",
        "Server-sent events, at most one a second: jobs or calls of the tenant changed. The stream ends after 10 minutes; ask again, and read again what you show.",
      ),
    ),
  )
  .prefix("/api/v1")
  .annotateMerge(OpenApi.annotations({ title: "Changes", description: "News of jobs and calls." })) {}
