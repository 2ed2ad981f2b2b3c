import { useState } from "preact/hooks"
import { useNow } from "../../shared/Ago.tsx"
import { ItemList } from "../ItemList.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { usePages } from "../usePages.ts"
import { View } from "../View.tsx"
import { KeyItem } from "./KeyItem.tsx"
import { NewKey } from "./NewKey.tsx"

const PAGE = 20
/** Spending and last uses change. A page takes a request for each key with budgets. */
const EVERY_MS = 30_000

export const KeysView = () => {
  const { gateway, owner } = useSession()
  const now = useNow(5000)
  const [isCreating, setCreating] = useState(false)
  const pages = usePages(
    async (at) => {
      const page = await gateway.keys.list({ limit: PAGE, ...at })
      const used = page.items.map(async (item) => ({
        item,
        budgets: item.budgets === undefined ? [] : await gateway.budgets.get({ key: item.id, signal: at.signal }),
      }))
      return { ...page, items: await Promise.all(used) }
    },
    [gateway],
    { every: EVERY_MS },
  )

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
      <ItemList
        pages={pages}
        what="keys"
        about="A key lets a program or a person use this gateway, with a role, budgets and an expiry of its own."
        removalOf={({ item: { id, name } }) => ({
          title: `Revoke ${name}?`,
          verb: "Revoke",
          busyText: "Revoking…",
          act: () => gateway.keys.revoke(id),
          effect: "Every gateway refuses it within a second. Its jobs continue, but its schedules create no more.",
          done: `The key of ${name} was revoked.`,
        })}
      >
        {(used, revoke) => (
          <KeyItem key={used.item.id} {...used} now={now} onChanged={pages.reload} onRevoke={revoke} />
        )}
      </ItemList>
      {isCreating && <NewKey onClose={() => setCreating(false)} onCreated={pages.reload} />}
    </View>
  )
}
