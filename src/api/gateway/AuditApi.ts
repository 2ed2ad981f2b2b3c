import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { CursorInvalid } from "../../domain/operations/storage.ts"
import { AuditEntry } from "../../domain/access/audit.ts"
import { AdminOnly } from "./Authorization.ts"
import { LIST, pageOf, pageQuery } from "./lists.ts"
import { described } from "../described.ts"

export class AuditApi extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: pageQuery,
      success: pageOf(AuditEntry),
      error: [CursorInvalid],
    })
      .middleware(AdminOnly)
      .annotateMerge(described("Read the audit trail", `Of every tenant. ${LIST}`)),
  )
  .prefix("/api/v1/audit")
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "Who changed what." })) {}
