import type { ComponentChildren } from "preact"
import { useRef, useState } from "preact/hooks"
import { Confirm } from "./Dialog.tsx"
import { Pager } from "../shared/Pager.tsx"
import { useSession } from "./session/SessionContext.ts"
import type { Pages } from "./usePages.ts"
import { Empty, Unloaded } from "./View.tsx"

interface Removal {
  readonly title: string
  readonly verb: string
  readonly busyText: string
  readonly act: () => Promise<unknown>
  /** Explains the consequences in the dialog, which adds that the removal cannot be undone. */
  readonly effect: string
  /** Announced afterwards. */
  readonly done: string
}

interface ItemListProps<Item> {
  readonly pages: Pages<Item>
  /** The items, such as `agents`. */
  readonly what: string
  /** Shown if there are none. */
  readonly about: ComponentChildren
  readonly removalOf: (item: Item) => Removal
  readonly children: (item: Item, remove: () => void) => ComponentChildren
}

/** A page of items. Removing one asks for confirmation first. */
export const ItemList = <Item,>({ about, children, pages, removalOf, what }: ItemListProps<Item>) => {
  const { announce } = useSession()
  const [doomed, setDoomed] = useState<Removal>()
  const list = useRef<HTMLDivElement>(null)
  const { busy, cursors, items, reload, value } = pages
  return (
    <>
      <Unloaded loaded={pages} what={what} />
      {value !== undefined && items.length === 0 && (
        <Empty title={cursors.page === 1 ? `No ${what} yet.` : "Nothing on this page."}>{about}</Empty>
      )}
      <div ref={list} tabIndex={-1} aria-label={`List of ${what}`} role="group" aria-busy={busy}>
        <ul class="stack">{items.map((item) => children(item, () => setDoomed(removalOf(item))))}</ul>
      </div>
      <Pager pages={pages} />
      {doomed !== undefined && (
        <Confirm
          {...doomed}
          onClose={(isDone) => {
            setDoomed(undefined)
            if (!isDone) return
            announce(doomed.done)
            // The focused button is gone with its item.
            list.current?.focus()
            reload()
          }}
        >
          {doomed.effect} This cannot be undone.
        </Confirm>
      )}
    </>
  )
}
