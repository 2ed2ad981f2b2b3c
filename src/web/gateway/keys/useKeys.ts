import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import { useSession } from "../session/SessionContext.ts"
import { useLoad } from "../useLoad.ts"

const PAGE = 20
/** Spending and last uses change. A page takes a request for each key with budgets. */
const EVERY_MS = 30_000

export const useKeys = (cursor: string | undefined) => {
  const { gateway } = useSession()
  return useLoad(
    async (signal) => {
      const page = await gateway.keys.list({ limit: PAGE, signal, ...withoutUndefined({ cursor }) })
      const used = page.items.map(async (item) => ({
        item,
        budgets: item.budgets === undefined ? [] : await gateway.budgets.get({ key: item.id, signal }),
      }))
      return { ...page, items: await Promise.all(used) }
    },
    [gateway, cursor],
    { every: EVERY_MS },
  )
}
