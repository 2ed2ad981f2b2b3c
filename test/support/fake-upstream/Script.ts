/** Selects the reply for a request. */
import type { Asked, WireName } from "./Asked.ts"
import type { Reply } from "./Reply.ts"

/** Requests with all of these members, or accepted by a function. */
export type Match =
  | { readonly wire?: WireName; readonly model?: string; readonly key?: string; readonly stream?: boolean }
  | ((asked: Asked) => boolean)

interface Entry {
  readonly match: Match | undefined
  readonly reply: Reply
}

const accepts = ({ match }: Entry, asked: Asked): boolean => {
  if (match === undefined) return true
  if (typeof match === "function") return match(asked)
  return (["wire", "model", "key", "stream"] as const).every(
    (name) => match[name] === undefined || match[name] === asked[name],
  )
}

const UNSCRIPTED: Reply = { text: "ok" }

export class Script {
  private once: Array<Entry> = []
  private standing: Array<Entry> = []

  add(match: Match | undefined, replies: ReadonlyArray<Reply>): void {
    this.once.push(...replies.map((reply) => ({ match, reply })))
  }

  always(match: Match | undefined, reply: Reply): void {
    this.standing.unshift({ match, reply })
  }

  clear(): void {
    this.once = []
    this.standing = []
  }

  /** Special entries go before general ones, entries for one use before standing ones. */
  take(asked: Asked): Reply {
    for (const special of [true, false]) {
      const fits = (entry: Entry): boolean => (entry.match !== undefined) === special && accepts(entry, asked)
      const index = this.once.findIndex(fits)
      const [taken] = index === -1 ? [] : this.once.splice(index, 1)
      const entry = taken ?? this.standing.find(fits)
      if (entry !== undefined) return entry.reply
    }
    return UNSCRIPTED
  }
}
