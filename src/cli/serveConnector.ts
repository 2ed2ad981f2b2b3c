/** `sealgate connect`, loaded on demand because it imports the whole server. */
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { isLoopback } from "../domain/access/hostName.ts"
import { Connector, type ConnectorSettings } from "../layers/Connector.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { examineSession } from "./doctor/examineSession.ts"
import { asBase } from "./doctor/probe.ts"
import { printableLine } from "./printable.ts"
import { layerLogging, type LoggingSettings } from "../server/telemetry/Logging.ts"

const announce = (settings: ConnectorSettings) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    const url = NetAddress.isInetAddress(address) ? `http://${NetAddress.formatInet(address)}` : "a socket"
    yield* Effect.logInfo(`connector listening on ${url}/v1`)
    yield* Effect.logInfo(
      `sealing to ${String(settings.sealed.baseUrl)}; base URLs for programs: OPENAI_BASE_URL=${url}/v1 ANTHROPIC_BASE_URL=${url}`,
    )
    if (!isLoopback(settings.host)) {
      yield* Effect.logWarning("other machines can use this connector; their requests are not sealed on the way to it")
    }
    if (settings.receipts?.evidence === true) {
      yield* Effect.logWarning(`prompts and answers are kept in ${settings.receipts.folder}`)
    }
  })

/**
 * Begins a session once. A wrong pin ends the connector, because no request could succeed. Other failures are only
 * logged: the proxy may start later.
 */
const examineProxy = Effect.fnUntraced(function* ({ sealed }: ConnectorSettings) {
  const proxy = asBase(new URL(sealed.baseUrl))
  const wrong = (yield* examineSession(proxy, sealed.pins ?? [])).find(({ level }) => level === "error")
  if (wrong === undefined) return
  const says = printableLine(`${wrong.says} ${wrong.fix ?? ""}`.trimEnd())
  if (wrong.check === "pin") return yield* new CommandFailed({ message: says, exitCode: 1 })
  yield* Effect.logWarning(`no session with ${proxy.href} could be begun; requests fail until that works: ${says}`)
})

export const serveConnector = (settings: ConnectorSettings, logging: LoggingSettings) =>
  Layer.launch(
    Layer.effectDiscard(Effect.andThen(announce(settings), examineProxy(settings))).pipe(
      Layer.provideMerge(Connector.layer(settings)),
      Layer.provide(layerLogging(logging)),
    ),
  )
