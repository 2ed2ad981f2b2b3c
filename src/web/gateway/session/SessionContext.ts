/** Session context of all views: the client, the owner of the token, and output outside of the view. */
import { createContext } from "preact"
import { useContext } from "preact/hooks"
import type { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import type { NewKey } from "../../../client/gateway/GatewayKeys.ts"
import type { Owner } from "./token.ts"

interface Session {
  readonly gateway: GatewayClient
  readonly owner: Owner
  /** Queues a screen reader announcement. */
  readonly announce: (text: string) => void
  /** Shows a new key's secret until it is stored, even if the view or the session ends before. */
  readonly showKey: (created: NewKey) => void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export const useSession = (): Session => {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error("a view needs a SessionContext")
  return session
}
