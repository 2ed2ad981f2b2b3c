import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { useCursors } from "../shared/Pager.tsx"
import { type LoadOptions, useLoad } from "./useLoad.ts"

interface Page<Item> {
  readonly items: ReadonlyArray<Item>
  readonly next_cursor?: string
}

/** Reads one page of a list whenever `inputs` change or another page is chosen, and again as the options say. */
export const usePages = <Item>(
  load: (at: { readonly signal: AbortSignal; readonly cursor?: string }) => Promise<Page<Item>>,
  inputs: ReadonlyArray<unknown>,
  options?: LoadOptions,
) => {
  const cursors = useCursors()
  const { cursor } = cursors
  const loaded = useLoad((signal) => load({ signal, ...withoutUndefined({ cursor }) }), [...inputs, cursor], options)
  return { ...loaded, cursors, items: loaded.value?.items ?? [], next: loaded.value?.next_cursor }
}

export type Pages<Item> = ReturnType<typeof usePages<Item>>
