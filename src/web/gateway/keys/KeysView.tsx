import { useRef, useState } from "preact/hooks"
import type { GatewayKey } from "../../../client/gateway/GatewayKeys.ts"
import { useNow } from "../../shared/Ago.tsx"
import { Pager, useCursors } from "../../shared/Pager.tsx"
import { Confirm } from "../Dialog.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { Empty, Loading, Problem, View } from "../View.tsx"
import { KeyItem } from "./KeyItem.tsx"
import { NewKey } from "./NewKey.tsx"
import { useKeys } from "./useKeys.ts"

export const KeysView = () => {
  const { announce, gateway, owner } = useSession()
  const pages = useCursors()
  const now = useNow(5000)
  const [isCreating, setCreating] = useState(false)
  const [doomed, setDoomed] = useState<GatewayKey>()
  const list = useRef<HTMLDivElement>(null)
  const { busy, failure, reload, value } = useKeys(pages.cursor)
  const keys = value?.items ?? []

  return (
    <View
      title="Keys"
      actions={
        <>
          {owner.admin && (
            <a class="button" href={hrefOf({ view: "audit" })}>
              Audit trail
            </a>
          )}
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            New key
          </button>
        </>
      }
    >
      {failure !== undefined && <Problem failure={failure} onRetry={reload} />}
      {value === undefined && failure === undefined && <Loading what="keys" />}
      {value !== undefined && keys.length === 0 && (
        <Empty title={pages.page === 1 ? "No keys yet." : "Nothing on this page."}>
          A key lets a program or a person use this gateway, with a role, budgets and an expiry of its own.
        </Empty>
      )}
      <div ref={list} tabIndex={-1} aria-label="List of keys" role="group" aria-busy={busy}>
        <ul class="stack">
          {keys.map(({ budgets, item }) => (
            <KeyItem
              key={item.id}
              item={item}
              budgets={budgets}
              now={now}
              onChanged={reload}
              onRevoke={() => setDoomed(item)}
            />
          ))}
        </ul>
      </div>
      <Pager pages={pages} next={value?.next_cursor} settled={!busy && failure === undefined} />
      {isCreating && <NewKey onClose={() => setCreating(false)} onCreated={reload} />}
      {doomed !== undefined && (
        <Confirm
          title={`Revoke ${doomed.name}?`}
          verb="Revoke"
          busyText="Revoking…"
          act={() => gateway.keys.revoke(doomed.id)}
          onClose={(revoked) => {
            setDoomed(undefined)
            if (!revoked) return
            announce(`The key of ${doomed.name} was revoked.`)
            // The focused button is gone with its key.
            list.current?.focus()
            reload()
          }}
        >
          Every gateway refuses it within a second. Its jobs continue, but its schedules create no more. This cannot be
          undone.
        </Confirm>
      )}
    </View>
  )
}
