/** Names of agents by id, because jobs carry only ids. */
import { useEffect, useState } from "preact/hooks"
import type { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import { shortId } from "../../shared/format.ts"
import { useSession } from "../session/SessionContext.ts"

const PAGE = 100
/** Limits the names read to the newest agents; older ones appear by id. */
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

/** Returns names by id, reading them again for unknown ids; `undefined` until the first read. */
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
      // Ignored, because names are a convenience and the jobs show the failure.
      () => {
        if (!controller.signal.aborted) setNames((names) => names ?? new Map())
      },
    )
    return () => controller.abort()
  }, [gateway, wanted])
  return names
}

/** Returns the name of an agent, or a placeholder while names load, so that ids do not flicker. */
export const agentName = (names: ReadonlyMap<string, string> | undefined, id: string): string =>
  names === undefined ? "…" : (names.get(id) ?? shortId(id))
