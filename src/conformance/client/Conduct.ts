/** Checks in every case that a client sends only what the previous answer allows: the output alone would not show a fault. */
import { isObject } from "../../domain/json/json.ts"
import { parseIJson } from "../../domain/json/iJson.ts"
import { PROBLEM_CONTENT_TYPE } from "../../domain/problems/problem.ts"
import { bodyOf, type ProxyReply } from "../lyingProxy/Lie.ts"

type Answered = "nothing yet" | "an answer" | "no session" | "a refusal" | "a break"

/** Limit of requests; a client beyond it repeats itself. */
const MOST_REQUESTS = 20

/** Faults by rule id. */
export const WATCHED = {
  C18: "it offers another list of suites after a failure",
  C19: "it sends the header Authorization outside the seal",
  C20: "it seals two requests in one HPKE context",
  C24: "it asks again under a request_id that an end record has settled",
  C25: "it seals anew after a refusal that does not allow it, or more than once, or under another request_id",
  C26: "it seals anew after a break, when the request may have been served",
} as const
type WatchedId = keyof typeof WATCHED

const codeIn = (reply: ProxyReply): unknown => {
  if (reply.headers["content-type"] !== PROBLEM_CONTENT_TYPE) return undefined
  try {
    const problem = parseIJson(bodyOf(reply))
    return isObject(problem) ? problem["code"] : undefined
  } catch {
    return undefined
  }
}

const kindOf = (reply: ProxyReply): Answered => {
  if (reply.status < 300) return "an answer"
  const code = codeIn(reply)
  if (code === undefined) return "a break"
  return code === "session-gone" || code === "draining" ? "no session" : "a refusal"
}

export class Conduct {
  /** Faults of the client, in sentences that begin with the rule's id. */
  readonly faults = new Set<string>()
  private readonly offers = new Set<string>()
  /** Bodies by their `enc`. */
  private readonly sealed = new Map<string, string>()
  private readonly settled = new Set<string>()
  private lastId = ""
  private answered: Answered = "nothing yet"
  private anew = 0
  private requests = 0

  blame(id: WatchedId): void {
    this.faults.add(`[${id}] ${WATCHED[id]}`)
  }

  /** Records a request for a session. */
  offer(suites: ReadonlyArray<unknown>): void {
    this.offers.add(JSON.stringify(suites))
    if (this.offers.size > 1) this.blame("C18")
    this.count()
  }

  seal(enc: string, body: string, requestId: string): void {
    this.count()
    const before = this.sealed.get(enc)
    if (before === body) return
    if (before !== undefined) this.blame("C20")
    this.sealed.set(enc, body)
    if (this.settled.has(requestId)) this.blame("C24")
    if (this.answered === "a refusal") this.blame("C25")
    if (this.answered === "a break") this.blame("C26")
    if (this.answered === "no session" && (++this.anew > 1 || requestId !== this.lastId)) this.blame("C25")
    this.lastId = requestId
  }

  answer(reply: ProxyReply): void {
    this.answered = kindOf(reply)
    if (this.answered === "an answer") this.settled.add(this.lastId)
  }

  private count(): void {
    if (++this.requests <= MOST_REQUESTS) return
    this.faults.add("it repeats its requests without end")
    throw new Error("the client sent too many requests")
  }
}
