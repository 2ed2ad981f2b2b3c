import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CursorInvalid } from "../../domain/operations/storage.ts"
import { ModelName } from "../../domain/upstream/targets.ts"
import { ProviderId } from "../../domain/upstream/upstream.ts"
import { NeededRole } from "./Authorization.ts"
import { time } from "../../domain/timeText.ts"
import { LedgerEntry } from "../../domain/routing/ledger.ts"
import { LIST, pageOf, scope } from "./lists.ts"
import { described } from "../described.ts"

/** Billing reads whole months, and entries are small. */
const MAX_LEDGER_PAGE = 1000
const MAX_CURSOR = 200

const Id = Schema.String.check(Schema.isUUID(7))

const Csv = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))

export class LedgerApi extends HttpApiGroup.make("ledger")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: {
        limit: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LEDGER_PAGE })),
        ).annotateKey({ description: `Entries per page at most: 1 to ${MAX_LEDGER_PAGE}, default 100.` }),
        cursor: Schema.optionalKey(
          Schema.String.check(Schema.isMaxLength(MAX_CURSOR)).annotate({
            description: "The `next_cursor` of the previous page; without it, the newest entries.",
          }),
        ),
        from: Schema.optionalKey(time("An RFC 3339 time: only calls that began then or later.")),
        to: Schema.optionalKey(time("An RFC 3339 time: only calls that began before.")),
        key_id: Schema.optionalKey(Id.annotate({ description: "Only calls of this key." })),
        agent_id: Schema.optionalKey(Id.annotate({ description: "Only calls for this agent." })),
        model: Schema.optionalKey(ModelName.annotate({ description: "Only calls of this model, as targets name it." })),
        provider: Schema.optionalKey(ProviderId.annotate({ description: "Only calls of this provider." })),
        scope,
      },
      success: [pageOf(LedgerEntry), Csv],
      error: [CursorInvalid],
    })
      .annotate(NeededRole, "manage")
      .annotateMerge(
        described(
          "Read the ledger",
          `Every call of a provider, with its tokens and its cost. ${LIST} With \`Accept: text/csv\`, the answer is CSV with the same columns, and \`Link\` with \`rel="next"\` leads to the next page.`,
        ),
      ),
  )
  .prefix("/api/v1/ledger")
  .annotateMerge(OpenApi.annotations({ title: "Ledger", description: "Calls of providers and their cost." })) {}
