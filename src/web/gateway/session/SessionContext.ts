/** Session context of all views: the client, the owner of the token, and screen reader announcements. */
import { createContext } from "preact"
import { useContext } from "preact/hooks"
import type { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import type { Owner } from "./token.ts"

interface Session {
  readonly gateway: GatewayClient
  readonly owner: Owner
  /** Queues a screen reader announcement. */
  readonly announce: (text: string) => void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export const useSession = (): Session => {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error("a view needs a SessionContext")
  return session
}
