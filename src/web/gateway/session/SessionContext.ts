/** What every view needs: the gateway, whose token it is, and a way to say things to those who do not see the page. */
import { createContext } from "preact"
import { useContext } from "preact/hooks"
import type { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import type { Owner } from "./token.ts"

interface Session {
  readonly gateway: GatewayClient
  readonly owner: Owner
  /** Has a screen reader announce something after its current announcement. */
  readonly announce: (text: string) => void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export const useSession = (): Session => {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error("a view was shown to nobody")
  return session
}
