/** MCP servers that are processes of this machine. Each session has its own, so tenants never share one. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect } from "effect"
import { ChildProcess } from "effect/process"
import type { McpCommand } from "../../domain/jobs/mcpCommands.ts"

/** The operator's commands by name; none by default. */
export const McpCommands = Context.Reference<ReadonlyMap<string, McpCommand>>("sealgate/services/tools/McpCommands", {
  defaultValue: () => new Map(),
})

/** Why an agent's command was not started. */
export const UNLISTED = "The operator lists no command of this name (MCP_COMMANDS_FILE)."

/** An empty folder that is removed with its content. */
const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "sealgate-mcp-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
)

/** Starts the process in an empty folder, without the gateway's environment, which contains secrets. */
export const processOf = ({ args = [], command, env = {} }: McpCommand) =>
  Effect.map(folder, (cwd) =>
    ChildProcess.make(command, args, { cwd, env: { HOME: cwd, TMPDIR: cwd, ...env }, extendEnv: false }),
  )
