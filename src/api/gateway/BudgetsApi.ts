import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { BudgetReport, TenantBudgetList } from "../../domain/access/budgets.ts"
import { KeyNotFound } from "../../domain/access/keys.ts"
import { AgentNotFound } from "../../domain/jobs/agent.ts"
import { BODY_PROBLEMS } from "../problems.ts"
import { AdminOnly } from "./Authorization.ts"
import { described } from "../described.ts"

const MAX_ID = 64
const Id = Schema.String.check(Schema.isMaxLength(MAX_ID))

export class BudgetsApi extends HttpApiGroup.make("budgets")
  .add(
    HttpApiEndpoint.get("get", "/", {
      query: {
        key: Schema.optionalKey(Id.annotate({ description: "Id of the key whose budgets are asked for." })),
        agent: Schema.optionalKey(Id.annotate({ description: "Id of the agent whose budgets are asked for." })),
      },
      success: BudgetReport,
      error: [KeyNotFound, AgentNotFound],
    }).annotateMerge(
      described(
        "Read budgets",
        "The tenant's, or those of a `key` or an `agent`: what is spent, reserved for calls under way, and left. Other keys than the caller's need the role `manage`.",
      ),
    ),
    HttpApiEndpoint.put("put", "/", {
      payload: Schema.Struct({ budgets: TenantBudgetList }),
      success: BudgetReport,
      error: [...BODY_PROBLEMS],
    })
      .middleware(AdminOnly)
      .annotateMerge(
        described(
          "Replace the tenant's budgets",
          "Those of the caller's tenant, in force for its calls within a second. An empty list removes them.",
        ),
      ),
  )
  .prefix("/api/v1/budgets")
  .annotateMerge(OpenApi.annotations({ title: "Budgets", description: "What tenants, agents and keys may spend." })) {}
