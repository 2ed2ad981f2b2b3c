import { HttpApi, OpenApi } from "effect/http-api"
import { Refusals } from "../problems.ts"
import { SystemApi } from "../SystemApi.ts"
import { A2aApi } from "./A2aApi.ts"
import { AgentsApi } from "./AgentsApi.ts"
import { AuditApi } from "./AuditApi.ts"
import { Authorization } from "./Authorization.ts"
import { BudgetsApi } from "./BudgetsApi.ts"
import { ChangesApi } from "./ChangesApi.ts"
import { CallsApi } from "./CallsApi.ts"
import { JobsApi } from "./JobsApi.ts"
import { KeysApi } from "./KeysApi.ts"
import { LedgerApi } from "./LedgerApi.ts"
import { McpApi } from "./McpApi.ts"
import { RoutingApi } from "./RoutingApi.ts"
import { SchedulesApi } from "./SchedulesApi.ts"
import { SecretsApi } from "./SecretsApi.ts"
import { ThreadsApi } from "./ThreadsApi.ts"
import { WebhooksApi } from "./WebhooksApi.ts"

export class GatewayApi extends HttpApi.make("sealgate-gateway")
  .add(AgentsApi)
  .add(JobsApi)
  .add(ThreadsApi)
  .add(SchedulesApi)
  .add(RoutingApi)
  .add(LedgerApi)
  .add(KeysApi)
  .add(SecretsApi)
  .add(BudgetsApi)
  .add(WebhooksApi)
  .add(AuditApi)
  .add(ChangesApi)
  .add(CallsApi)
  .add(McpApi)
  .add(A2aApi)
  // For all groups so far; probes need no key.
  .middleware(Authorization)
  .middleware(Refusals)
  .add(SystemApi)
  // Reports all mistakes at once, misspelt members included.
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotateMerge(
    OpenApi.annotations({
      title: "sealgate gateway",
      version: "1",
      description: "Agents whose answers are debated or verified before you get them, as durable jobs.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    }),
  ) {}
