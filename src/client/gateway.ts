/** `sealgate/gateway-client`: the agent gateway's client, with promises. It runs on Effect and in browsers. */
export type { Problem } from "../domain/problems/problemTypes.ts"
export { SealgateError, Unreachable } from "./errors.ts"
export { GatewayProblem } from "./gateway/GatewayProblem.ts"
export {
  type Agent,
  GatewayClient,
  type RoutingSettings,
  type RoutingStats,
  type Spend,
} from "./gateway/GatewayClient.ts"
export type { Page } from "./gateway/gatewayCalls.ts"
export type { Job, JobDelta, JobEvent, JobHandle, Step } from "./gateway/GatewayJobs.ts"
export type { BudgetUse } from "./gateway/GatewayBudgets.ts"
export type { Secret } from "./gateway/GatewaySecrets.ts"
export type { AuditEntry, GatewayKey, KeyChange, KeySettings, NewKey } from "./gateway/GatewayKeys.ts"
export type { GatewayClientOptions } from "./gateway/GatewayClientService.ts"
