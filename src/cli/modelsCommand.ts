import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { SealgateError } from "../client/errors.ts"
import { isObject } from "../domain/json/json.ts"
import { connectionReason } from "../domain/problems/systemErrors.ts"
import { explained } from "./chat/answerText.ts"
import { CommandFailed } from "./CommandFailed.ts"
import { ENVIRONMENT } from "./credential.ts"
import { jsonFlag, pinsFlag, proxyFlag } from "./flags.ts"
import { withHelp } from "./help/Guide.ts"
import { printableJson } from "./printable.ts"
import { proxyAndPins } from "./settings/proxyAddress.ts"
import { table } from "./table.ts"

const failed = (error: unknown): CommandFailed => {
  const known = error instanceof TypeError ? error.cause : error
  if (known instanceof SealgateError) return new CommandFailed({ message: explained(known), exitCode: 1 })
  if (error instanceof TypeError) {
    return new CommandFailed({ message: `The proxy could not be reached: ${connectionReason(error)}.`, exitCode: 1 })
  }
  return new CommandFailed({
    message: "The proxy did not list its models. `sealgate doctor` finds out why.",
    exitCode: 1,
  })
}

/** Only the path of this URL is used. */
const MODELS = "https://sealed.invalid/v1/models"

export const modelsCommand = Command.make(
  "models",
  { proxy: proxyFlag, pin: pinsFlag, json: jsonFlag("Print JSON, as the proxy answers at /v1/models") },
  Effect.fn(function* (input) {
    const { pins, proxy } = yield* proxyAndPins(input)
    const { createSealedFetch } = yield* Effect.promise(() => import("../client/sdk/sealedFetch.ts"))
    const fetch = createSealedFetch({ baseUrl: proxy, pins })
    const body = yield* Effect.tryPromise({
      try: async (signal): Promise<unknown> => {
        const response = await fetch(MODELS, { signal })
        return response.ok ? response.json() : Promise.reject(new Error("refused"))
      },
      catch: failed,
    })
    if (input.json) return yield* Console.log(printableJson(body))
    const models = isObject(body) && Array.isArray(body["data"]) ? body["data"].filter(isObject) : []
    yield* Console.log(
      table([["MODEL", "PROVIDER"], ...models.map(({ id, owned_by }) => [String(id), String(owned_by)])]),
    )
  }),
).pipe(
  withHelp({
    summary: "List the default models of a proxy",
    description: `Lists the default model of each of a proxy's providers; a provider may serve others too. No prompt is sent. The list is
not sealed: trust it no more than the connection.`,
    examples: [
      ["sealgate models", "Models of the proxy on this machine"],
      ["sealgate models --proxy https://proxy.example.com --json", "For programs"],
    ],
    environment: ENVIRONMENT,
    exits: { 0: "shown", 1: "the proxy cannot be reached, or gave no list" },
    next: '`sealgate chat --model <name> "…"` asks one of them.',
  }),
)
