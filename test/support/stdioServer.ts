/** An MCP server over standard streams: a process that notes its id in the file `PIDS` and shows what it can see. */
import { appendFileSync, readdirSync, writeFileSync } from "node:fs"
import { argv, cwd, env, pid } from "node:process"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"

appendFileSync(env["PIDS"] ?? "", `${pid}\n`)

let calls = 0

const tools: Readonly<Record<string, (key: unknown) => string | Promise<string>>> = {
  look: (key) => {
    const files = readdirSync(cwd())
    writeFileSync("left", "behind")
    calls++
    return JSON.stringify({ args: argv.slice(2), calls, env, files, key, cwd: cwd() })
  },
  flood: () => "x".repeat(2 * 1024 * 1024),
  hang: () => new Promise<string>(() => {}),
  // The ordinary end of a crash.
  crash: () => process.exit(3),
}

const server = new Server({ name: "stdio", version: "1" }, { capabilities: { tools: {} } })
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" as const } })),
}))
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => ({
  content: [
    { type: "text" as const, text: (await tools[params.name]?.(params._meta?.["sealgate/idempotency-key"])) ?? "" },
  ],
}))
process.stderr.write("secret words of the server\n")
await server.connect(new StdioServerTransport())
