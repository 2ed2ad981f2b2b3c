/** Signs in: checks a token at the gateway, then keeps it in memory, or in session storage if the user wants. */
import { GatewayClient } from "../../../client/gateway/GatewayClient.ts"
import { moment } from "../../shared/format.ts"
import { storeOf } from "../../shared/store.ts"
import { tokenIn } from "../../shared/tokenIn.ts"
import { explain, type Failure, isSignedOut } from "../failure.ts"
import { inTime } from "../../shared/inTime.ts"
import { type Owner, ownerOf } from "./token.ts"

export interface SignedIn {
  readonly gateway: GatewayClient
  readonly owner: Owner
}

const STORED_AS = "sealgate.token"
const store = storeOf(() => sessionStorage)

export const keptToken = (): string | undefined => store.getItem(STORED_AS) ?? undefined

export const keepToken = (pasted: string): void => store.setItem(STORED_AS, tokenIn(pasted))

export const forgetToken = (): void => store.removeItem(STORED_AS)

const refused = (title: string, advice: string): Failure => ({ title, issues: [], advice, final: true })

const MINT = "See below where to get one."

/** Guesses from the token why the gateway refused it. */
const whyRefused = (owner: Owner, now: number): Failure =>
  owner.expires <= now
    ? refused(`This token expired on ${moment(owner.expires)}.`, MINT)
    : refused(
        "The gateway does not accept this token.",
        owner.tenant === undefined
          ? `It names no tenant. That works only if the gateway treats users as tenants. ${MINT}`
          : `It was signed with another secret or for another issuer or audience, or the gateway was restarted with --dev since. ${MINT}`,
      )

export const whyEnded = (owner: Owner, now: number): Failure => {
  const { advice, title } = whyRefused(owner, now)
  return owner.expires <= now
    ? refused("Your token expired, so you were signed out.", advice)
    : refused("You were signed out.", `${title} ${advice}`)
}

/** Explains that a kept token was refused after a reload. */
export const whyForgotten = ({ advice, title }: Failure): Failure =>
  refused("You were signed out, and the token kept in this tab was removed.", `${title} ${advice}`)

/** Resolves with a session or a failure. Calls `onEnd` if the gateway refuses the token later. */
export const signIn = async (
  pasted: string,
  baseUrl: string,
  onEnd: (owner: Owner) => void,
): Promise<SignedIn | Failure> => {
  const token = tokenIn(pasted)
  if (token === "") return refused("Paste a token first.", MINT)
  const owner = ownerOf(token)
  if (owner === undefined) {
    return refused("This is not a token of the gateway.", `A token has three parts, separated by dots. ${MINT}`)
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
    await inTime((signal) => gateway.agents.list({ limit: 1, signal }))
  } catch (error) {
    return isSignedOut(error) ? whyRefused(owner, Date.now()) : explain(error)
  }
  accepted = true
  return { gateway, owner }
}
