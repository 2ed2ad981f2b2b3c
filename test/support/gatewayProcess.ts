import { Effect } from "effect"
import { SECRET } from "./gateway.ts"
import { run, type RunOptions } from "./processes.ts"

/** A gateway's URL in a line of its log. */
export const gatewayUrlIn = (line: string): string | undefined => /listening on (http:[^"\s]+)/.exec(line)?.[1]

/** A gateway process, and its URL. */
export const runGateway = Effect.fnUntraced(function* (options: RunOptions = {}) {
  const env = { PORT: "0", HOST: "127.0.0.1", LOG_FORMAT: "json", JWT_SECRET: SECRET, ...options.env }
  const running = yield* run(["gateway"], { ...options, env })
  const url = yield* Effect.promise(() => running.line(gatewayUrlIn))
  return { ...running, url }
})
