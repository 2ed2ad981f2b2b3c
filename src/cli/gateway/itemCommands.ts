/** Commands for one item of a gateway, given by its id. */
import { Argument, Command } from "effect/cli"
import type { GatewayClient } from "../../client/gateway/GatewayClient.ts"
import { printableLine } from "../printable.ts"
import { askAndPrint, type CallOptions, gatewayFlags, type GatewayHelp, withGatewayHelp } from "./remote.ts"

type Call<A> = (gateway: GatewayClient, id: string, options: CallOptions) => Promise<A>

export const idArgument = (kind: string) =>
  Argument.String("id").pipe(Argument.withDescription(`Id of the ${kind}, as in \`sealgate ${kind}s\``))

interface Printed<Item> {
  readonly kind: string
  readonly call: Call<Item>
  readonly text: (item: Item) => string
  readonly help: GatewayHelp
}

export const makeItemCommand = <const Name extends string, Item>(
  name: Name,
  { call, help, kind, text }: Printed<Item>,
) =>
  Command.make(name, { id: idArgument(kind), ...gatewayFlags }, (input) =>
    askAndPrint(input, (gateway, options) => call(gateway, input.id, options), text),
  ).pipe(withGatewayHelp(help))

interface Deletion {
  readonly kind: "key" | "schedule" | "thread"
  /** The first word of the output. */
  readonly done: "Deleted" | "Revoked"
  readonly summary: string
  readonly description: string
  readonly example: readonly [id: string, effect: string]
  readonly remove: Call<void>
}

export const makeDeleteCommand = <const Name extends string>(
  name: Name,
  { description, done, example: [id, effect], kind, remove, summary }: Deletion,
) =>
  makeItemCommand(name, {
    kind,
    call: async (gateway, id, options) => {
      await remove(gateway, id, options)
      return { id }
    },
    text: ({ id }) => `${done} ${printableLine(id)}.`,
    help: {
      summary,
      description,
      examples: [
        [`sealgate ${kind}s ${name} ${id}`, effect],
        [`sealgate ${kind}s ${name} ${id} --json`, "For programs: the id"],
      ],
      exits: { 0: `the ${kind} is ${done.toLowerCase()}` },
    },
  })
