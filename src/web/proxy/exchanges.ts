import type { VerifiedFrame } from "../../client/sealed/ResponseOpener.ts"
import { deltaText } from "../../client/sealed/deltaText.ts"
import type { StreamEnd } from "../../client/sealed/SealedStream.ts"
import { partsOf, type StreamPart } from "../../client/sealed/streamParts.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { PublicJwk } from "../../domain/protocol/statement.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { explain, type Explained } from "./explainTraffic.ts"
import type { Crossing } from "./wiretap.ts"

export interface WireItem extends Explained {
  readonly key: number
  readonly direction: "out" | "in"
  readonly text: string
  /** For frames: milliseconds since the stream opened. */
  readonly after?: number
}

export interface Link {
  readonly index: number
  readonly final: boolean
  readonly chain: string
}

export interface ExchangeFailure {
  readonly title: string
  readonly detail: string
  /**
   * `tampered`: something was changed on the path; `identity`: another identity answered; `refusal`: sealed and proven
   * by the pinned proxy; `other`: not attributable.
   */
  readonly kind: "tampered" | "identity" | "refusal" | "other"
}

export const isAttack = (failure: ExchangeFailure | undefined): boolean =>
  failure?.kind === "tampered" || failure?.kind === "identity"

export interface Exchange {
  readonly id: number
  readonly question: string
  /** The pins when it was asked; the same array while they stay the same. */
  readonly pins: ReadonlyArray<string>
  /** Verified frame by frame; complete only when `status` is `verified`. */
  readonly answer: string
  /** Why the answer restarted, if a provider failed midway. */
  readonly restarted?: string
  readonly status: "asking" | "verified" | "failed" | "stopped"
  readonly wire: ReadonlyArray<WireItem>
  /** When the stream opened, on the clock of {@link Crossing}. */
  readonly openedAt?: number
  readonly chain: ReadonlyArray<Link>
  readonly end?: StreamEnd
  /** Public keys that verified receipt and proof. */
  readonly keys: ReadonlyArray<PublicJwk>
  readonly failure?: ExchangeFailure
}

export type Happening =
  | { readonly type: "asked"; readonly id: number; readonly question: string; readonly pins: ReadonlyArray<string> }
  | { readonly type: "crossed"; readonly id: number; readonly crossing: Crossing }
  | { readonly type: "opened"; readonly id: number; readonly frame: VerifiedFrame }
  | { readonly type: "said"; readonly id: number; readonly part: StreamPart }
  | {
      readonly type: "verified"
      readonly id: number
      readonly end: StreamEnd
      readonly keys: ReadonlyArray<PublicJwk>
    }
  | { readonly type: "failed"; readonly id: number; readonly failure: ExchangeFailure }
  | { readonly type: "stopped"; readonly id: number }
  | { readonly type: "cleared" }

const textOf = (part: StreamPart<JsonObject>): string => (part.type === "delta" ? deltaText(part.chunk) : "")

const cross = (exchange: Exchange, crossing: Crossing): Exchange => {
  const { at, direction, event, text } = crossing
  const openedAt = event === "open" ? at : exchange.openedAt
  const item: WireItem = {
    key: exchange.wire.length,
    direction,
    text,
    ...explain(crossing, exchange.question),
    ...withoutUndefined({ after: event === "frame" && openedAt !== undefined ? at - openedAt : undefined }),
  }
  // The client seals only after verifying the offer, so a sealed question means that the offer was verified.
  const before = item.what === "question" ? settle(exchange) : exchange.wire
  return { ...exchange, ...withoutUndefined({ openedAt }), wire: [...before, item] }
}

/** Marks the oldest unopened frame as verified. */
const open = (exchange: Exchange, { chain, final, index, payload }: VerifiedFrame): Exchange => {
  const at = exchange.wire.findIndex(({ state, what }) => what === "frame" && state === "sealed")
  const meaning = final ? "The end record: how the answer ended, and the signed receipt." : meaningOf(payload)
  return {
    ...exchange,
    wire: exchange.wire.map((item, i) => (i === at ? { ...item, state: "verified", meaning } : item)),
    chain: [...exchange.chain, { index, final, chain }],
  }
}

const meaningOf = (payload: VerifiedFrame["payload"]): string => {
  const parts = partsOf(payload ?? {})
  const text = parts.map(textOf).join("")
  const said = text === "" ? "A part of the answer without text." : `“${text}”`
  if (parts.some(({ type }) => type === "restart")) {
    return `A provider failed and another one starts over. The text so far is void. ${text === "" ? "" : said}`.trim()
  }
  return parts.length === 0 ? "No new text: frames follow the clock, so that observers cannot count tokens." : said
}

/** The messages on the wire, with everything signed marked as verified. */
const settle = (exchange: Exchange): ReadonlyArray<WireItem> =>
  exchange.wire.map((item) => (item.state === "signed" ? { ...item, state: "verified" } : item))

const step = (exchange: Exchange, happening: Happening): Exchange => {
  switch (happening.type) {
    case "crossed":
      return cross(exchange, happening.crossing)
    case "opened":
      return open(exchange, happening.frame)
    case "said":
      return happening.part.type === "restart"
        ? { ...exchange, answer: "", restarted: happening.part.reason }
        : { ...exchange, answer: exchange.answer + textOf(happening.part) }
    case "verified":
      return {
        ...exchange,
        status: "verified",
        end: happening.end,
        keys: happening.keys,
        wire: settle(exchange),
      }
    case "failed":
      return {
        ...exchange,
        status: "failed",
        failure: happening.failure,
        wire: afterFailure(exchange, happening.failure),
      }
    case "stopped":
      return { ...exchange, status: "stopped" }
    case "asked":
    case "cleared":
      return exchange
  }
}

/** A sealed refusal is verified like an answer, including its proof. */
const afterFailure = (exchange: Exchange, failure: ExchangeFailure): ReadonlyArray<WireItem> => {
  if (isAttack(failure)) return blame(exchange)
  return failure.kind === "refusal" ? settle(exchange) : exchange.wire
}

const REFUSED = "Not from the pinned proxy. The client stopped and discarded it."
const UNREAD = "Arrived after the refused message."

/** Marks the first unverified item as refused, and later ones as unread, because the client stopped there. */
const blame = (exchange: Exchange): ReadonlyArray<WireItem> => {
  const isUnchecked = ({ state }: WireItem) => state === "sealed" || state === "signed"
  const refused = exchange.wire.findIndex(isUnchecked)
  return exchange.wire.map((item, i): WireItem => {
    if (i === refused) return { ...item, state: "refused", meaning: REFUSED }
    return isUnchecked(item) ? { ...item, state: "unread", meaning: UNREAD } : item
  })
}

export const follow = (exchanges: ReadonlyArray<Exchange>, happening: Happening): ReadonlyArray<Exchange> => {
  if (happening.type === "cleared") return []
  if (happening.type === "asked") {
    const { id, pins, question } = happening
    return [...exchanges, { id, question, pins, answer: "", status: "asking", wire: [], chain: [], keys: [] }]
  }
  return exchanges.map((exchange) => (exchange.id === happening.id ? step(exchange, happening) : exchange))
}

/** The verified exchanges under `pins`, as history for the next question: new pins begin a new conversation. */
export const historyOf = (exchanges: ReadonlyArray<Exchange>, pins: ReadonlyArray<string>) =>
  exchanges
    .filter((exchange) => exchange.status === "verified" && exchange.pins === pins)
    .flatMap(({ answer, question }) => [
      { role: "user" as const, content: question },
      { role: "assistant" as const, content: answer },
    ])
