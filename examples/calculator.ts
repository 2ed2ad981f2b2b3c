/**
 * An MCP server with a calculator, over streamable HTTP: `node examples/calculator.ts 8970`. Give it to an agent as
 * `{"mcp_servers":[{"name":"calc","url":"http://127.0.0.1:8970/mcp"}]}`, with TOOL_PRIVATE_NETWORKS=127.0.0.1 at the gateway.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { argv } from "node:process"
import { json } from "node:stream/consumers"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"

const operations: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
}

const number = { type: "number" as const }

/** A call as the server received it. `key` names the call: repeated calls have the same. */
export interface Calculation {
  readonly key: unknown
  readonly header: string | undefined
}

const makeServer = (onCall: (calculation: Calculation) => void): Server => {
  const server = new Server({ name: "calculator", version: "1.0.0" }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(operations).map((name) => ({
      name,
      description: `Returns a ${name} b.`,
      inputSchema: { type: "object" as const, properties: { a: number, b: number }, required: ["a", "b"] },
      annotations: { readOnlyHint: true },
    })),
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { requestInfo }) => {
    const header = requestInfo?.headers["idempotency-key"]
    onCall({ key: params._meta?.["sealgate/idempotency-key"], header: String(header) })
    const operation = operations[params.name]
    const { a, b } = params.arguments ?? {}
    if (operation === undefined || typeof a !== "number" || typeof b !== "number") {
      return { content: [{ type: "text" as const, text: "Give two numbers, a and b." }], isError: true }
    }
    return { content: [{ type: "text" as const, text: String(operation(a, b)) }] }
  })
  return server
}

/** Starts the server on a port of this machine; 0 chooses one. */
export const startCalculator = async (port = 0, onCall: (calculation: Calculation) => void = () => {}) => {
  const http = createServer((request, response) => {
    const serve = async () => {
      if (request.method !== "POST") return void response.writeHead(405).end()
      const server = makeServer(onCall)
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: false })
      response.on("close", () => void server.close())
      await server.connect(transport)
      await transport.handleRequest(request, response, await json(request))
    }
    serve().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve))
  const { port: bound } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    stop: () => {
      http.close()
      http.closeAllConnections()
    },
  }
}

if (import.meta.main) {
  const { url } = await startCalculator(Number(argv[2] ?? 8970))
  console.log(`The calculator listens on ${url}`)
}
