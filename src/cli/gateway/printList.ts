import { Console, type Effect } from "effect"
import { printableJson } from "../printable.ts"
import { table } from "../table.ts"

interface Listing<Item> {
  readonly json: boolean
  /** Printed if there are no items. */
  readonly none: string
  readonly columns: ReadonlyArray<string>
  readonly row: (item: Item) => ReadonlyArray<string>
}

/** Prints items as JSON or as a table. */
export const printList = <Item>(
  items: ReadonlyArray<Item>,
  { columns, json, none, row }: Listing<Item>,
): Effect.Effect<void> => {
  if (json) return Console.log(printableJson(items))
  return Console.log(items.length === 0 ? none : table([columns, ...items.map(row)]))
}
