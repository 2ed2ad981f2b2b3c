/** Reads the file of MCP servers that the gateway may start. */
import { Effect, Layer } from "effect"
import { McpCommandsFile } from "../domain/jobs/mcpCommands.ts"
import { McpCommands } from "../services/tools/McpCommands.ts"
import { bytesOf, MAX_FILE_BYTES, OperatorFileUnusable, parsing } from "./operatorFile.ts"

const parse = parsing(McpCommandsFile)

/** The commands of the file; none without a file. The file counts as secret, because its variables may be. */
export const layerMcpCommands = (file: string | undefined): Layer.Layer<never, OperatorFileUnusable> =>
  file === undefined
    ? Layer.empty
    : Layer.effect(
        McpCommands,
        bytesOf(file, true, MAX_FILE_BYTES).pipe(
          Effect.flatMap((bytes) => Effect.fromResult(parse(bytes))),
          Effect.mapBoth({
            onFailure: (problem) => new OperatorFileUnusable({ setting: "MCP_COMMANDS_FILE", file, problem }),
            onSuccess: ({ commands }) => new Map(commands.map((command) => [command.name, command])),
          }),
        ),
      )
