/** Reads verifiable evidence from a file: statements, a recorded stream, a revealed exchange, public keys. */
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { type ServerSentEvent, serverSentEvents } from "../../client/sealed/serverSentEvents.ts"
import { Tampered } from "../../client/errors.ts"
import { expectEvent, frameOf, proofOf } from "../../client/sealed/streamParts.ts"
import type * as verify from "../../client/verification/verify.ts"
import { jsonFault } from "../../domain/json/iJson.ts"
import { parseStatement, STATEMENT_TYPES } from "../../domain/protocol/statement.ts"
import { unusable } from "../CommandFailed.ts"

/** Evidence of a single exchange, with at most one receipt. */
export interface StoredEvidence extends verify.Evidence {
  /** Readable copies of signed content. */
  readonly copies: {
    readonly receipt: JsonObject | undefined
    readonly proof: JsonObject | undefined
    readonly completion: JsonObject | undefined
  }
  /** JWKs from the file. They count only if they are pinned. */
  readonly keys: ReadonlyArray<unknown>
}

const UNKNOWN = unusable(
  "This is neither a receipt, nor a proof, nor a recorded stream, nor a revealed exchange: " +
    "expected a signed statement, JSON that holds one, or the events of a sealed stream.",
)

const isString = (value: unknown): value is string => typeof value === "string"

const isStrings = (value: unknown): value is ReadonlyArray<string> => Array.isArray(value) && value.every(isString)

/** Returns the common value. Rejects different values: one could be verified and another one shown. */
const agreed = Effect.fnUntraced(function* <A>(
  name: string,
  values: ReadonlyArray<unknown>,
  is: (value: unknown) => value is A,
) {
  const [first, ...more] = values.filter((value) => value !== undefined)
  if (first === undefined) return undefined
  if (!is(first)) return yield* unusable(`Its \`${name}\` has the wrong type.`)
  if (!more.every((value) => isDeepStrictEqual(value, first))) {
    return yield* unusable(`It holds two different \`${name}\`: use one file per exchange.`)
  }
  return first
})

/** Combines the parts of a file. Fails rather than silently ignore a part. */
const fromParts = Effect.fnUntraced(function* (parts: ReadonlyArray<JsonObject>) {
  const all = (name: string) => parts.map((part) => part[name])
  const texts = (name: string) => agreed(name, all(name), isString)
  const lists = (name: string) => agreed(name, all(name), isStrings)
  // In `chat --json`, this name holds the claims instead of the statement.
  const statement = (name: string) =>
    agreed(
      name,
      all(name).filter((value) => !isObject(value)),
      isString,
    )
  const copy = (name: string) => agreed(name, all(name).filter(isObject), isObject)

  const receipt = yield* statement("receipt")
  const proof = yield* statement("proof")
  const commit_key = yield* texts("commit_key")
  const credential_commitment = yield* texts("credential_commitment")
  const request = yield* texts("request")
  const responses = yield* lists("responses")
  const response_nonce = yield* texts("response_nonce")
  const frames = yield* lists("frames")
  const copies = {
    receipt: yield* copy("receipt"),
    proof: yield* copy("proof"),
    completion: yield* agreed("completion", all("completion"), isObject),
  }
  if (receipt === undefined && proof === undefined) return yield* UNKNOWN

  const revealed = { receipt, commit_key, credential_commitment, request, responses }
  const exchange = isWhole(revealed) ? revealed : undefined
  if (
    exchange === undefined &&
    (commit_key ?? credential_commitment ?? request ?? responses ?? copies.completion) !== undefined
  ) {
    return yield* unusable(
      "It has only part of a revealed exchange: `receipt`, `commit_key`, `credential_commitment`, `request` and `responses` go together.",
    )
  }
  const recorded = { proof, response_nonce, frames }
  const recording = isWhole(recorded) ? recorded : undefined
  if (recording === undefined && (response_nonce ?? frames) !== undefined) {
    return yield* unusable("It has only part of a recorded stream: `proof`, `response_nonce` and `frames` go together.")
  }
  if ((copies.receipt !== undefined && receipt === undefined) || (copies.proof !== undefined && proof === undefined)) {
    return yield* unusable("It shows claims without a signature: the signed statement is missing.")
  }
  // A list, or the JWKS that `onVerified` of a sealed fetch passes.
  const keys = all("keys").flatMap((member) => {
    const list = isObject(member) ? member["keys"] : member
    return Array.isArray(list) ? list : []
  })
  return { receipt, proof, recording, exchange, copies, keys } satisfies StoredEvidence
})

type Whole<Members> = { readonly [Name in keyof Members]: Exclude<Members[Name], undefined> }

const isWhole = <Members extends object>(members: Members): members is Members & Whole<Members> =>
  Object.values(members).every((value) => value !== undefined)

/** Members in which clients nest parts of the evidence. */
const NESTED = ["statements", "evidence", "recording"]

const fromJson = Effect.fnUntraced(function* (file: JsonObject) {
  const nested = yield* Effect.forEach(NESTED, (name) => agreed(name, [file[name]], isObject))
  return yield* fromParts([file, ...nested.filter((part) => part !== undefined)])
})

const fromStatement = Effect.fnUntraced(function* (statement: string) {
  switch (parseStatement(statement)?.typ) {
    case STATEMENT_TYPES.receipt:
      return yield* fromParts([{ receipt: statement }])
    case STATEMENT_TYPES.proof:
      return yield* fromParts([{ proof: statement }])
    default:
      return yield* UNKNOWN
  }
})

/** Rejects a recording that a client would refuse, even if the proof covers its frames. */
const mustBeInOrder = (events: ReadonlyArray<ServerSentEvent>) =>
  Effect.try({
    try: () => {
      const left = events.values()
      const next = (): ServerSentEvent => {
        const event = left.next()
        if (event.done === true) throw new Tampered("The recording ends before the proof of the stream.")
        return event.value
      }
      expectEvent(next(), "open")
      for (let seq = 0; !frameOf(next(), seq).final; seq++) continue
      proofOf(next())
      if (left.next().done !== true) throw new Tampered("The recorded stream goes on after its proof.")
    },
    // The parsers throw nothing but `Tampered`.
    catch: (error) => error as Tampered,
  })

/** Reads a stream as recorded on the wire. */
const fromEvents = Effect.fnUntraced(function* (text: string) {
  const parts: Array<JsonObject> = []
  const frames: Array<unknown> = []
  const events = yield* Effect.tryPromise({
    try: () => Array.fromAsync(serverSentEvents(new Blob([text]).stream())),
    catch: () => UNKNOWN,
  })
  for (const { data, event } of events) {
    const value = parseJson(data)
    const { ciphertext, proof, response_nonce } = isObject(value) ? value : {}
    if (event === "frame") frames.push(ciphertext)
    else if (event === "open") parts.push({ response_nonce })
    else if (event === "proof") parts.push({ proof })
  }
  const evidence = yield* fromParts([...parts, { frames }])
  yield* mustBeInOrder(events)
  return evidence
})

/** Detects the kind of `text`. Fails if nothing in it is signed, or if a part cannot be checked. */
export const readEvidence = Effect.fnUntraced(function* (text: string) {
  const value = parseJson(text)
  if (isObject(value)) {
    const fault = jsonFault(text)
    return fault === undefined ? yield* fromJson(value) : yield* unusable(`It is ambiguous JSON. ${fault}`)
  }
  return yield* /^event: ?open$/m.test(text) ? fromEvents(text) : fromStatement(text.trim())
})
