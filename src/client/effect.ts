/** `sealgate/effect`: both clients as services, for programs in Effect. */
export { type GatewayClientOptions, GatewayClientService } from "./gateway/GatewayClientService.ts"
export { SealedClientError, SealedClientService, type StreamElement } from "./sealed/SealedClientService.ts"
