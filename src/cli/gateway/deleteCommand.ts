import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import type { GatewayClient } from "../../client/gateway/GatewayClient.ts"
import { withHelp } from "../help/Guide.ts"
import { printableJson, printableLine } from "../printable.ts"
import { json } from "./listFlags.ts"
import { ask, connect, ENVIRONMENT, EXITS, gatewayFlag } from "./remote.ts"

/** The id of one `kind` of thing. */
export const idArgument = (kind: string) =>
  Argument.String("id").pipe(Argument.withDescription(`Id of the ${kind}, as in \`sealgate ${kind}s\``))

interface Deletion {
  readonly kind: "schedule" | "thread"
  readonly summary: string
  readonly description: string
  /** An id, and the effect of deleting it. */
  readonly example: readonly [id: string, effect: string]
  readonly remove: (gateway: GatewayClient, id: string, options: { readonly signal: AbortSignal }) => Promise<void>
}

/** Returns the command `delete`. */
export const makeDeleteCommand = ({ description, example: [id, effect], kind, remove, summary }: Deletion) =>
  Command.make(
    "delete",
    { id: idArgument(kind), gateway: gatewayFlag, json },
    Effect.fn(function* (input) {
      const gateway = yield* connect(input.gateway)
      yield* ask((signal) => remove(gateway, input.id, { signal }))
      yield* Console.log(input.json ? printableJson({ id: input.id }) : `Deleted ${printableLine(input.id)}.`)
    }),
  ).pipe(
    withHelp({
      summary,
      description,
      examples: [
        [`sealgate ${kind}s delete ${id}`, effect],
        [`sealgate ${kind}s delete ${id} --json`, "For programs: the id"],
      ],
      environment: ENVIRONMENT,
      exits: { ...EXITS, 0: `the ${kind} is deleted` },
    }),
  )
