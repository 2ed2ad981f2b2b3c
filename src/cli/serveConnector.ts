/** `sealgate connect`, loaded on demand because it imports the whole server. */
import { Effect, Layer, Result } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { isLoopback } from "../domain/access/hostName.ts"
import { Connector, type ConnectorSettings } from "../layers/Connector.ts"
import { EvidenceRefused } from "../client/errors.ts"
import { askAt } from "./attest/prove.ts"
import { CommandFailed, unusable } from "./CommandFailed.ts"
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

const warned = (proxy: URL, what: string, why: string) =>
  Effect.logWarning(`${what} ${proxy.href}; requests fail until that works: ${printableLine(why)}`)

/** Says why no session can begin. Fails if the key is not pinned. */
const examineKey = Effect.fnUntraced(function* (proxy: URL, { pins = [] }: ConnectorSettings["sealed"]) {
  const wrong = (yield* examineSession(proxy, pins)).find(({ level }) => level === "error")
  if (wrong === undefined) return undefined
  const says = `${wrong.says} ${wrong.fix ?? ""}`.trimEnd()
  return wrong.check === "pin" ? yield* new CommandFailed({ message: printableLine(says), exitCode: 1 }) : says
})

/** Says why there is no evidence to judge. Fails if the policy refuses it. */
const examineCode = Effect.fnUntraced(function* (proxy: URL, { policy }: ConnectorSettings["sealed"]) {
  if (policy === undefined) return undefined
  const asked = yield* Effect.result(askAt(proxy))
  if (Result.isFailure(asked)) return asked.failure.message
  const { answer, nonce } = asked.success
  const judged = yield* Effect.result(Effect.tryPromise(() => policy.judge(answer, nonce)))
  if (Result.isSuccess(judged)) return undefined
  const { cause } = judged.failure
  if (!(cause instanceof EvidenceRefused)) return yield* Effect.die(cause)
  if (cause.reason === "collateral-unavailable") return cause.message
  return yield* new CommandFailed({ message: printableLine(cause.message), exitCode: 1 })
})

/** A wrong pin or refused evidence ends the connector. The rest is only logged: the proxy may start later. */
const examineProxy = Effect.fnUntraced(function* ({ sealed }: ConnectorSettings) {
  const proxy = asBase(new URL(sealed.baseUrl))
  const session = yield* examineKey(proxy, sealed)
  if (session !== undefined) return yield* warned(proxy, "no session with", session)
  const code = yield* examineCode(proxy, sealed)
  if (code !== undefined) yield* warned(proxy, "no evidence from", code)
})

export const serveConnector = (settings: ConnectorSettings, logging: LoggingSettings) =>
  Layer.launch(
    Layer.effectDiscard(Effect.andThen(announce(settings), examineProxy(settings))).pipe(
      Layer.provideMerge(Connector.layer(settings)),
      Layer.provide(layerLogging(logging)),
    ),
  ).pipe(Effect.catchTag("ReceiptsUnwritable", ({ message }) => unusable(`${message}. Check --receipts.`)))
