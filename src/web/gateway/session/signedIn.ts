/** Signing in: a token is tried on the gateway, and from then on lives in this page's memory, or in its tab if asked to. */
import { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import { moment } from "../../shared/format.ts"
import { storeOf } from "../../shared/store.ts"
import { tokenIn } from "../../shared/tokenIn.ts"
import { explain, type Failure, isSignedOut } from "../failure.ts"
import { type Owner, ownerOf } from "./token.ts"

export interface SignedIn {
  readonly gateway: GatewayClient
  readonly owner: Owner
}

const STORED_AS = "sealgate.token"
const store = storeOf(() => sessionStorage)

/** The token that somebody had kept in this tab, until it is closed or they sign out. */
export const keptToken = (): string | undefined => store.getItem(STORED_AS) ?? undefined

export const keepToken = (pasted: string): void => store.setItem(STORED_AS, tokenIn(pasted))

export const forgetToken = (): void => store.removeItem(STORED_AS)

/** The token will not do, now or later. */
const refused = (title: string, advice: string): Failure => ({ title, issues: [], advice, final: true })

const MINT = "Below is where to get one."

/** Why the gateway may have refused a token, as far as the token itself tells. */
const whyRefused = (owner: Owner, now: number): Failure =>
  owner.expires <= now
    ? refused(`This token expired on ${moment(owner.expires)}.`, MINT)
    : refused(
        "The gateway does not accept this token.",
        owner.tenant === undefined
          ? `It names no tenant, as a token has to unless the gateway takes users for tenants. ${MINT}`
          : `It was signed with another secret or for another issuer or audience, or the gateway was restarted with --dev since. ${MINT}`,
      )

export const whyEnded = (owner: Owner, now: number): Failure => {
  const { advice, title } = whyRefused(owner, now)
  return owner.expires <= now
    ? refused("Your token expired, so you were signed out.", advice)
    : refused("You were signed out.", `${title} ${advice}`)
}

/** What is said of a kept token that was refused when the page was loaded again. */
export const whyForgotten = ({ advice, title }: Failure): Failure =>
  refused("You were signed out, and the token that this tab kept was forgotten.", `${title} ${advice}`)

/** Resolves with a session, or with why there is none. `onEnd` hears when the gateway refuses the token later. */
export const signIn = async (
  pasted: string,
  baseUrl: string,
  onEnd: (owner: Owner) => void,
): Promise<SignedIn | Failure> => {
  const token = tokenIn(pasted)
  if (token === "") return refused("Paste a token first.", MINT)
  const owner = ownerOf(token)
  if (owner === undefined) {
    return refused("This is not a token of the gateway.", `A token is three parts with dots between them. ${MINT}`)
  }
  let accepted = false
  const gateway = new GatewayClient({
    baseUrl,
    token,
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      if (accepted && response.status === 401) onEnd(owner)
      return response
    },
  })
  try {
    await gateway.agents.list({ limit: 1 })
  } catch (error) {
    return isSignedOut(error) ? whyRefused(owner, Date.now()) : explain(error)
  }
  accepted = true
  return { gateway, owner }
}
