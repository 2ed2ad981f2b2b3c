/** `sealgate/gateway-client`: the agent gateway's client, with promises. It runs on Effect and in browsers. */
export type { Problem } from "../domain/problemTypes.ts"
export { SealgateError, Unreachable } from "./errors.ts"
export { GatewayProblem } from "./GatewayProblem.ts"
export { type Agent, GatewayClient, type RoutingSettings, type RoutingStats } from "./GatewayClient.ts"
export type { Page } from "./gatewayCalls.ts"
export type { Job, JobEvent, JobHandle, Step } from "./GatewayJobs.ts"
export type { GatewayClientOptions } from "./GatewayClientService.ts"
