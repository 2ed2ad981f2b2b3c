/** How much one tenant may store. */
import { Context } from "effect"

export interface TenantQuotas {
  readonly agents: number
  /** Jobs that have not ended. */
  readonly openJobs: number
}

const UNBOUNDED = Number.MAX_SAFE_INTEGER

export const TenantQuotas = Context.Reference<TenantQuotas>("sealgate/services/access/TenantQuotas", {
  defaultValue: () => ({ agents: UNBOUNDED, openJobs: UNBOUNDED }),
})

/** The quotas of settings in which 0 is no limit. */
export const quotasOf = (settings: TenantQuotas): TenantQuotas => ({
  agents: settings.agents || UNBOUNDED,
  openJobs: settings.openJobs || UNBOUNDED,
})
