/** The resources, with their names in the OpenAPI document. */
import { AuditEntry as AuditEntrySchema } from "../../domain/access/audit.ts"
import { BudgetReport as BudgetReportSchema } from "../../domain/access/budgets.ts"
import { GatewayKey as GatewayKeySchema, NewKey as NewKeySchema } from "../../domain/access/keys.ts"
import { SecretInfo as SecretInfoSchema } from "../../domain/access/secrets.ts"
import { Agent as AgentSchema } from "../../domain/jobs/agent.ts"
import { Job as JobSchema } from "../../domain/jobs/job.ts"
import { Thread as ThreadSchema } from "../../domain/jobs/thread.ts"
import { JobSummary as JobSummarySchema } from "../../domain/jobs/summary.ts"
import { LedgerEntry as LedgerEntrySchema } from "../../domain/routing/ledger.ts"
import { ProviderHealthReport as ProviderHealthSchema } from "../../domain/routing/health.ts"
import { PricedRoutingSettings } from "../../domain/routing/routing.ts"
import { RoutingStatsReport } from "../../domain/routing/savings.ts"
import { SpendReport as SpendReportSchema } from "../../domain/routing/spend.ts"

export const Agent = AgentSchema.annotate({ identifier: "Agent" })
export const AuditEntry = AuditEntrySchema.annotate({ identifier: "AuditEntry" })
export const BudgetReport = BudgetReportSchema.annotate({ identifier: "BudgetReport" })
export const GatewayKey = GatewayKeySchema.annotate({ identifier: "Key" })
export const NewKey = NewKeySchema.annotate({ identifier: "NewKey" })
export const Job = JobSchema.annotate({ identifier: "Job" })
export const JobSummary = JobSummarySchema.annotate({ identifier: "JobSummary" })
export const LedgerEntry = LedgerEntrySchema.annotate({ identifier: "LedgerEntry" })
export const ProviderHealthReport = ProviderHealthSchema.annotate({ identifier: "ProviderHealthReport" })
export const SecretInfo = SecretInfoSchema.annotate({ identifier: "Secret" })
export const RoutingSettings = PricedRoutingSettings.annotate({ identifier: "RoutingSettings" })
export const SpendReport = SpendReportSchema.annotate({ identifier: "SpendReport" })
export const Thread = ThreadSchema.annotate({ identifier: "Thread" })
export const RoutingStats = RoutingStatsReport.annotate({ identifier: "RoutingStats" })
