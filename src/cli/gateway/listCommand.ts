import { Clock, Console, Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { GatewayClient } from "../../client/gateway/GatewayClient.ts"
import type { Page } from "../../client/gateway/gatewayCalls.ts"
import { printableJson } from "../printable.ts"
import { table } from "../table.ts"
import { connect, gatewayFlag, type GatewayHelp, json, listFirst, type PageAt, withGatewayHelp } from "./remote.ts"

export const limitFlag = Flag.Int("limit").pipe(
  Flag.withMetavar("number"),
  Flag.withDescription("How many to list, 1 to 100 (default 20)"),
  Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
  Flag.withDefault(20),
)

interface Listing<Item> {
  readonly json: boolean
  /** Printed if there are no items. */
  readonly none: string
  readonly columns: ReadonlyArray<string>
  /** The texts of an item, at `now` in milliseconds since the epoch. */
  readonly row: (item: Item, now: number) => ReadonlyArray<string>
}

export const printList = Effect.fnUntraced(function* <Item>(
  items: ReadonlyArray<Item>,
  { columns, json, none, row }: Listing<Item>,
) {
  if (json) return yield* Console.log(printableJson(items))
  const now = yield* Clock.currentTimeMillis
  yield* Console.log(items.length === 0 ? none : table([columns, ...items.map((item) => row(item, now))]))
})

interface Listed<Item> extends Omit<Listing<Item>, "json"> {
  readonly list: (gateway: GatewayClient, at: PageAt) => Promise<Page<Item>>
  readonly help: GatewayHelp
}

export const makeListCommand = <const Name extends string, Item>(name: Name, { help, list, ...how }: Listed<Item>) =>
  Command.make(
    name,
    { gateway: gatewayFlag, limit: limitFlag, json },
    Effect.fn(function* (input) {
      const gateway = yield* connect(input.gateway)
      const items = yield* listFirst(input.limit, (at) => list(gateway, at))
      yield* printList(items, { ...how, json: input.json })
    }),
  ).pipe(withGatewayHelp(help))
