/** What a file holds that can be verified: statements, a recorded stream, a revealed exchange, public keys. */
import { Effect } from "effect"
import { isObject, type JsonObject } from "../../client/decode.ts"
import { serverSentEvents } from "../../client/serverSentEvents.ts"
import type { RecordedStream, RevealedExchange } from "../../client/verify.ts"
import { parseStatement, STATEMENT_TYPES } from "../../domain/statement.ts"
import { unusable } from "../CommandFailed.ts"

export interface Evidence {
  readonly receipt?: string
  readonly proof?: string
  readonly recording?: RecordedStream
  readonly exchange?: RevealedExchange
  /** JWKs that came along. They count only if they are pinned. */
  readonly keys: ReadonlyArray<unknown>
}

const UNKNOWN = unusable(
  "This is neither a receipt, nor a proof, nor a recorded stream, nor a revealed exchange: " +
    "expected a signed statement, JSON that holds one, or the events of a sealed stream.",
)

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isStrings = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((item) => typeof item === "string")

const recordingIn = ({ frames, response_nonce }: JsonObject) =>
  typeof response_nonce === "string" && isStrings(frames) ? { recording: { response_nonce, frames } } : {}

const exchangeIn = ({ commit_key, receipt, request, responses }: JsonObject) =>
  typeof receipt === "string" && typeof commit_key === "string" && typeof request === "string" && isStrings(responses)
    ? { exchange: { receipt, commit_key, request, responses } }
    : {}

const statementsIn = ({ proof, receipt }: JsonObject) => ({
  ...(typeof receipt === "string" ? { receipt } : {}),
  ...(typeof proof === "string" ? { proof } : {}),
})

/** Members in which clients put parts of what belongs together. */
const NESTED = ["statements", "evidence", "recording"]

const fromJson = (object: JsonObject): Evidence => {
  const parts = [object, ...NESTED.map((member) => object[member]).filter(isObject)]
  const found: Evidence = { keys: parts.flatMap(({ keys }) => (Array.isArray(keys) ? keys : [])) }
  for (const part of parts) Object.assign(found, statementsIn(part), recordingIn(part), exchangeIn(part))
  return found
}

const fromStatement = (statement: string): Evidence | undefined => {
  switch (parseStatement(statement)?.typ) {
    case STATEMENT_TYPES.receipt:
      return { receipt: statement, keys: [] }
    case STATEMENT_TYPES.proof:
      return { proof: statement, keys: [] }
    default:
      return undefined
  }
}

/** A stream as it was on the wire. */
const fromEvents = async (text: string): Promise<Evidence> => {
  const frames: Array<string> = []
  let nonce: string | undefined
  let proof: string | undefined
  for await (const { data, event } of serverSentEvents(new Blob([text]).stream())) {
    const object = parseJson(data)
    if (!isObject(object)) continue
    if (event === "open" && typeof object["response_nonce"] === "string") nonce = object["response_nonce"]
    if (event === "frame" && typeof object["ciphertext"] === "string") frames.push(object["ciphertext"])
    if (event === "proof" && typeof object["proof"] === "string") proof = object["proof"]
  }
  return {
    keys: [],
    ...(proof === undefined ? {} : { proof }),
    ...(nonce === undefined ? {} : { recording: { response_nonce: nonce, frames } }),
  }
}

/** Finds out what `text` is. Fails when there is nothing in it that is signed. */
export const readEvidence = Effect.fnUntraced(function* (text: string) {
  const trimmed = text.trim()
  const value = parseJson(trimmed)
  const found = isObject(value)
    ? fromJson(value)
    : /^event: ?open$/m.test(text)
      ? yield* Effect.tryPromise({ try: () => fromEvents(text), catch: () => UNKNOWN })
      : fromStatement(trimmed)
  if (found?.receipt === undefined && found?.proof === undefined) return yield* UNKNOWN
  return found
})
