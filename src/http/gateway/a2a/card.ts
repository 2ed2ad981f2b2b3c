/** Cards of agents (A2A 1.0, §4.4). */
import { TLSSocket } from "node:tls"
import { IncomingMessage } from "node:http"
import type { HttpServerRequest } from "effect/http"
import { A2A_VERSION } from "../../../api/gateway/A2aApi.ts"
import type { Agent } from "../../../domain/jobs/agent.ts"

const MODES = ["text/plain", "application/json"]

/**
 * The origin that the client called. A proxy that ends TLS names it in headers. A forged header does no harm, because
 * only its sender reads the answer.
 */
const originOf = ({ headers, source }: HttpServerRequest.HttpServerRequest): string => {
  const isTls = source instanceof IncomingMessage && source.socket instanceof TLSSocket
  // The client called the first of several proxies.
  const [forwarded = ""] = (headers["x-forwarded-proto"] ?? "").split(",", 1)
  const scheme = isTls || forwarded.trim().toLowerCase() === "https" ? "https" : "http"
  return `${scheme}://${headers["host"] ?? "localhost"}`
}

export const cardOf = (request: HttpServerRequest.HttpServerRequest, agent: Agent) => {
  const description = agent.role ?? `The agent ${agent.name}.`
  return {
    name: agent.name,
    description,
    version: String(agent.version),
    supportedInterfaces: [
      { url: `${originOf(request)}/a2a/${agent.id}`, protocolBinding: "JSONRPC", protocolVersion: A2A_VERSION },
    ],
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: "Bearer", description: "A key or token of the gateway." } },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: [{ id: "task", name: agent.name, description, tags: [agent.default_mode] }],
  }
}
