/** The calculator of the examples as a tool of evaluated agents, called by the product's MCP client. */
import { Effect, Layer } from "effect"
import { IpNetwork } from "effect/net"
import { startCalculator } from "../examples/calculator.ts"
import { ToolNetwork } from "../src/services/tools/ToolNetwork.ts"
import { layerTools, Tools } from "../src/services/tools/Tools.ts"

/** Reaches the calculator, which runs in this process. */
export const layerLocalTools = Layer.provide(
  layerTools,
  ToolNetwork.layer({ allowed: [IpNetwork.fromStringUnsafe("127.0.0.1/32")] }),
)

/** Starts the calculator for a scope, and returns the tools of an agent that may call it. */
export const startedCalculator = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => startCalculator()),
    ({ stop }) => Effect.sync(stop),
  ),
  ({ url }) => ({ mcp_servers: [{ name: "calculator", url }] }),
)

/** Makes each calculation once: the recorded solutions repeat most of them, and every call opens a session. */
export const layerRemembering = Layer.effect(
  Tools,
  Effect.map(Tools, ({ call, callListed, list }): Tools => {
    const listed = remembering(list)
    const called = remembering(callListed)
    return {
      call,
      list: (server) => listed(server.name, server),
      callListed: (server, tool, input, key) => called(JSON.stringify([tool.name, input]), server, tool, input, key),
    }
  }),
).pipe(Layer.provide(layerLocalTools))

const remembering = <A, E, Given extends ReadonlyArray<unknown>>(find: (...given: Given) => Effect.Effect<A, E>) => {
  const known = new Map<string, Effect.Effect<A, E>>()
  return (key: string, ...given: Given): Effect.Effect<A, E> =>
    Effect.suspend(
      () =>
        known.get(key) ??
        Effect.tap(find(...given), (found) => Effect.sync(() => known.set(key, Effect.succeed(found)))),
    )
}
