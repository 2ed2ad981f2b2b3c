/** Names of agents by id: jobs carry ids only. */
import { useEffect, useState } from "preact/hooks"
import type { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import { shortId } from "../../shared/format.ts"
import { useSession } from "../session/SessionContext.ts"

const PAGE = 100
/** How many agents, the newest, are shown by name; the others are shown by id. */
const MAX_PAGES = 10

const known = new WeakMap<GatewayClient, Map<string, string>>()

const read = async (gateway: GatewayClient, signal: AbortSignal): Promise<Map<string, string>> => {
  const names = new Map<string, string>()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const { items, next_cursor } = await gateway.agents.list({ limit: PAGE, signal, ...(cursor && { cursor }) })
    for (const { id, name } of items) names.set(id, name)
    cursor = next_cursor
    if (cursor === undefined) break
  }
  return names
}

/** Reads the names when there are ids among these that no one has asked for yet; `undefined` until they were read once. */
export const useAgentNames = (ids: ReadonlyArray<string>): ReadonlyMap<string, string> | undefined => {
  const { gateway } = useSession()
  const [names, setNames] = useState<ReadonlyMap<string, string> | undefined>(() => known.get(gateway))
  const wanted = [...new Set(ids)].sort().join(" ")
  useEffect(() => {
    const cached = known.get(gateway)
    if (wanted === "" || (cached !== undefined && wanted.split(" ").every((id) => cached.has(id)))) return
    const controller = new AbortController()
    read(gateway, controller.signal).then(
      (names) => {
        known.set(gateway, names)
        setNames(names)
      },
      // Names are only a convenience, so a failure to read them is ignored; what is wrong shows with the jobs
      // themselves.
      () => {
        if (!controller.signal.aborted) setNames((names) => names ?? new Map())
      },
    )
    return () => controller.abort()
  }, [gateway, wanted])
  return names
}

/** What an agent is called; nothing as long as its name may still come, so that no id flickers by. */
export const agentName = (names: ReadonlyMap<string, string> | undefined, id: string): string =>
  names === undefined ? "…" : (names.get(id) ?? shortId(id))
