/** `sealgate`: the servers as Effect Layers, to be run by the `sealgate` command or embedded in a program. */
export { type ProxySettings, layerProxy, proxySettingsFromEnvironment } from "./layers/Proxy.ts"
export {
  Gateway,
  type GatewaySettings,
  gatewaySettingsFromEnvironment,
  gatewaySettingsWith,
  layerGateway,
  type RunningGateway,
} from "./layers/Gateway.ts"
export { layerLogging } from "./layers/Logging.ts"
export { GatewayApi } from "./http/gateway/Api.ts"
export { ProxyApi } from "./http/proxy/Api.ts"
export { Attestation } from "./services/sealing/Attestation.ts"
export { Upstream } from "./services/upstream/Upstream.ts"
export { UpstreamError } from "./domain/upstream.ts"
export { layerUpstream, type UpstreamConfiguration } from "./layers/Upstream.ts"
export { layerTelemetry } from "./layers/Telemetry.ts"
export { type ConnectorSettings, layerConnector } from "./layers/Connector.ts"
