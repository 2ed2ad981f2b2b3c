import { Console, Effect, type Option, Redacted } from "effect"
import { clientError } from "../../client/clientError.ts"
import { type SealgateError, Unreachable } from "../../client/errors.ts"
import type { GatewayClient } from "../../client/gateway/GatewayClient.ts"
import { GatewayProblem } from "../../client/gateway/GatewayProblem.ts"
import type { Page } from "../../client/gateway/gatewayCalls.ts"
import { clientSettings } from "../../layers/config/clientSettings.ts"
import { ServerUrlText } from "../../layers/config/codecs.ts"
import { clientValues } from "../settings/clientValues.ts"
import { CommandFailed, unusable } from "../CommandFailed.ts"
import { type GuideShape, type Help, rowsOf, withHelp } from "../help/Guide.ts"
import { printableJson, printableLine } from "../printable.ts"
import { DEFAULT_GATEWAY, gatewayAddress } from "../settings/proxyAddress.ts"
import { jsonFlag, optionalFlag } from "../flags.ts"

export const gatewayFlag = optionalFlag(
  "gateway",
  "url",
  `URL of the gateway (default SEALGATE_GATEWAY, else ${DEFAULT_GATEWAY})`,
  ServerUrlText,
)

export const json = jsonFlag("Print JSON")

/** The last flags of the commands that make one call. */
export const gatewayFlags = { gateway: gatewayFlag, json }

/** Listed in help. There is no flag for the token: it would show it to every user of the machine. */
const ENVIRONMENT: NonNullable<GuideShape["environment"]> = rowsOf(clientSettings.token, clientSettings.gateway)

export const EXITS = {
  0: "shown",
  1: "the gateway cannot be reached, or refused",
  2: "wrong usage, or SEALGATE_TOKEN is not set",
}

export type GatewayHelp = Omit<Help, "environment">

/** Adds help to a command that queries the gateway. Of the exit codes, only those with a special meaning are given. */
export const withGatewayHelp = ({ exits, ...help }: GatewayHelp) =>
  withHelp({ ...help, environment: ENVIRONMENT, exits: { ...EXITS, ...exits } })

const UNAUTHORIZED = 401

/** Returns the remedy, if it is known. */
const hintFor = (error: SealgateError): string => {
  if (error instanceof Unreachable) {
    return "\nIs a gateway running? `sealgate gateway --dev` starts one; --gateway or SEALGATE_GATEWAY sets its URL."
  }
  if (!(error instanceof GatewayProblem)) return ""
  const { code, status } = error.problem
  if (status === UNAUTHORIZED) {
    return "\nSEALGATE_TOKEN may have expired or belong to another gateway: `sealgate token` mints a new one."
  }
  const [, kind] = /^(agent|job|key|schedule|secret|thread)-not-found$/.exec(code) ?? []
  if (kind === undefined) return ""
  return kind === "secret" ? "\n`sealgate secrets` lists them." : `\nGive its id; \`sealgate ${kind}s\` lists them.`
}

export const connect = Effect.fnUntraced(function* (given: Option.Option<URL>) {
  const url = yield* gatewayAddress(given)
  const { token } = yield* clientValues({ token: clientSettings.token })
  if (token === undefined) {
    return yield* unusable(
      "SEALGATE_TOKEN is not set. Set it to your bearer token: `sealgate gateway --dev` prints one, `sealgate token` mints one.",
    )
  }
  const { GatewayClient } = yield* Effect.promise(() => import("../../client/gateway/GatewayClient.ts"))
  return new GatewayClient({ baseUrl: url.href, token: Redacted.value(token) })
})

export interface PageAt {
  readonly limit: number
  readonly signal: AbortSignal
  readonly cursor?: string
}

/** Yields the items of all pages. A page may hold fewer items than its limit, because its size in bytes is bounded. */
export async function* overPages<A>(
  pageAt: (at: { readonly cursor?: string }) => Promise<Page<A>>,
): AsyncGenerator<A, void> {
  let page = await pageAt({})
  yield* page.items
  while (page.next_cursor !== undefined) {
    page = await pageAt({ cursor: page.next_cursor })
    yield* page.items
  }
}

/** Returns a line for each mistake in the request that the message does not name. */
const mistakesIn = (error: SealgateError): string =>
  error instanceof GatewayProblem
    ? (error.problem.errors ?? [])
        .map(({ message, path }) => `${path}: ${message}`)
        .filter((mistake) => !error.message.includes(mistake))
        .map((mistake) => `\n  ${printableLine(mistake)}`)
        .join("")
    : ""

/** Calls the gateway. A refusal ends the command with the gateway's message. */
export const ask = <A>(call: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.mapError(
    Effect.tryPromise({ try: call, catch: clientError }),
    (error) =>
      new CommandFailed({ message: printableLine(error.message) + mistakesIn(error) + hintFor(error), exitCode: 1 }),
  )

export interface CallInput {
  readonly gateway: Option.Option<URL>
  readonly json: boolean
}

export interface CallOptions {
  readonly signal: AbortSignal
}

/** Makes one call, and prints its answer as JSON or as text. */
export const askAndPrint = Effect.fnUntraced(function* <A>(
  input: CallInput,
  call: (gateway: GatewayClient, options: CallOptions) => Promise<A>,
  text: (answer: A) => string,
) {
  const gateway = yield* connect(input.gateway)
  const answer = yield* ask((signal) => call(gateway, { signal }))
  yield* Console.log(input.json ? printableJson(answer) : text(answer))
})

export const listFirst = <A>(limit: number, pageAt: (at: PageAt) => Promise<Page<A>>) =>
  ask(async (signal) => {
    const first: Array<A> = []
    for await (const item of overPages((at) => pageAt({ limit, signal, ...at }))) if (first.push(item) === limit) break
    return first
  })

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Returns the age of `time` in its largest unit, such as `5min`. */
export const age = (time: string, now: number): string => {
  const passed = Math.max(0, now - Date.parse(time))
  if (passed < MINUTE) return `${Math.floor(passed / SECOND)}s`
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)}min`
  return passed < DAY ? `${Math.floor(passed / HOUR)}h` : `${Math.floor(passed / DAY)}d`
}
