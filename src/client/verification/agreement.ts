/** Checks that facts stated more than once about an exchange agree. Throws `Tampered`, which names the differing fact. */
import type { ProofClaims, ReceiptClaims } from "../../domain/protocol/statement.ts"
import { apiOf, isApiName } from "../../domain/upstream/apis.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { Tampered } from "../errors.ts"
import { MAX_SKEW_MS } from "../../domain/protocol/transcript.ts"
import { type ProvenExchange, provenAnswer, restartOf } from "./provenAnswer.ts"

/** Whether two JSON values are equal, in any order of members. */
export const equalJson = (a: unknown, b: unknown): boolean => {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equalJson(item, b[i]))
  if (!isObject(a) || !isObject(b)) return a === b
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equalJson(a[name], b[name]))
  )
}

/** A name and the two values stated for it. */
type Fact = readonly [name: string, once: unknown, again: unknown]

/** The name of a fact, and its values if they are numbers: anything else might quote an answer. */
const quoted = ([name, once, again]: Fact): string =>
  typeof once === "number" && typeof again === "number" ? `${name} (${once} and ${again})` : name

const mustBeSame = (otherwise: string, ...facts: ReadonlyArray<Fact>): void => {
  const differing = facts.filter(([, once, again]) => !equalJson(once, again)).map(quoted)
  if (differing.length > 0) throw new Tampered(`${otherwise}: ${differing.join(", ")}.`)
}

/** Checks that each time of an exchange is not before the last one. */
const mustFollow = (...times: ReadonlyArray<readonly [name: string, seconds: number]>): void => {
  for (const [i, [name, time]] of times.entries()) {
    const [before, earlier] = times[i - 1] ?? [name, time]
    if (time < earlier)
      throw new Tampered(`The times run backwards: ${name} (${time}) is before ${before} (${earlier}).`)
  }
}

/**
 * Checks a receipt by itself: its times, and its count against its form.
 *
 * @param begun the `iat` of the session, in seconds, if known
 */
export const mustBeSound = (receipt: ReceiptClaims, begun = 0): void => {
  mustFollow(
    ["the session's iat", begun],
    ["received_at", receipt.received_at],
    ["completed_at", receipt.completed_at],
    ["the receipt's iat", receipt.iat],
  )
  if (receipt.form === "complete" && receipt.count !== 1) {
    throw new Tampered(`The receipt contradicts itself: a complete answer has one data frame, not ${receipt.count}.`)
  }
}

/** How far apart two clocks of one exchange may be, in seconds. */
const MAX_SKEW_SECONDS = MAX_SKEW_MS / 1000

/**
 * Checks that a receipt or a proof was not issued later than the exchange took.
 *
 * @param elapsed milliseconds since the request was sealed
 */
export const mustBeTimely = (receivedAt: number, issuedAt: number, elapsed: number): void => {
  if (issuedAt - receivedAt > elapsed / 1000 + MAX_SKEW_SECONDS) {
    throw new Tampered(
      `The times contradict the exchange: it took ${Math.round(elapsed / 1000)} s, and ${issuedAt - receivedAt} s by its statements.`,
    )
  }
}

/** Checks that a served request was not stale: it came about when it was issued. */
const mustBeFresh = ({ provider, received_at }: ReceiptClaims, { issued_at }: JsonObject): void => {
  if (provider === null) return
  if (typeof issued_at !== "number" || Math.abs(received_at - issued_at / 1000) > MAX_SKEW_SECONDS + 1) {
    const issued = typeof issued_at === "number" ? `${issued_at} ms` : "no time"
    throw new Tampered(
      `The receipt and the request contradict each other: received_at (${received_at} s) and issued_at (${issued}) are more than ${MAX_SKEW_SECONDS} s apart.`,
    )
  }
}

/** Checks a receipt against the proof of the same stream. */
export const mustAgree = (receipt: ReceiptClaims, proof: ProofClaims): void => {
  mustBeSame(
    "The receipt and the proof are about different exchanges",
    ["iss", receipt.iss, proof.iss],
    ["session_id", receipt.session_id, proof.session_id],
    ["request_hash", receipt.request_hash, proof.request_hash],
  )
  mustBeSame(
    "The receipt and the proof contradict each other",
    ["form", receipt.form, "stream"],
    ["count with the final frame", receipt.count + 1, proof.count],
  )
  mustFollow(["the receipt's iat", receipt.iat], ["the proof's iat", proof.iat])
}

/** Whether a stream may start over; defaults to the API's rule. */
const takesRestarts = ({ api, restart }: JsonObject): boolean =>
  restart !== false &&
  (restart === true || typeof api !== "string" || !isApiName(api) || apiOf(api).stream?.restart !== false)

/** Checks a receipt against the request and the answer that it commits to. */
export const mustFit = (exchange: ProvenExchange): void => {
  const { receipt, request } = exchange
  const asked = isObject(request["body"]) ? request["body"] : {}
  mustBeSame(
    "The receipt and the request contradict each other",
    ["jti", receipt.jti ?? request["request_id"], request["request_id"]],
    ["form", receipt.form, asked["stream"] === true ? "stream" : "complete"],
  )
  if (receipt.status === "complete" && receipt.provider === null) {
    throw new Tampered("The receipt contradicts itself: the answer is complete, but no provider is named.")
  }
  mustBeFresh(receipt, request)
  // An incomplete answer may have no provider.
  const provider = receipt.status === "complete" ? receipt.provider : (receipt.provider ?? request["provider"])
  mustBeSame("The receipt and the request contradict each other", [
    "provider",
    provider,
    request["provider"] ?? provider,
  ])
  const answer = provenAnswer(exchange)
  const restart = restartOf(exchange)
  if (restart !== undefined && !takesRestarts(request)) {
    throw new Tampered(
      "The request and the answer contradict each other: the answer starts over although the request forbids it.",
    )
  }
  // The receipt of an incomplete answer may lack facts that only the missing parts contain.
  if (receipt.status !== "complete" || answer === undefined) return
  const { finishReasons, models, usage } = answer
  mustBeSame(
    "The receipt and the answer contradict each other",
    ["provider", receipt.provider, restart?.provider ?? receipt.provider],
    // Some chunks name no model.
    ["model", receipt.model, models.includes(receipt.model) ? receipt.model : (models.at(-1) ?? receipt.model)],
    ["finish_reasons", receipt.finish_reasons, finishReasons.length > 0 ? finishReasons : receipt.finish_reasons],
    ["usage", receipt.usage, usage ?? receipt.usage],
  )
}
