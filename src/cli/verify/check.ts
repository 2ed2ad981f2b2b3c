/** Checks evidence against pins, offline. */
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import type { JsonObject } from "../../client/decode.ts"
import { KeyMissing, SealgateError, Tampered } from "../../client/errors.ts"
import { type ProvenExchange, proveExchange, verifyProof, verifyReceipt } from "../../client/verify.ts"
import { keysByThumbprint, type TrustOptions } from "../../client/trust.ts"
import type { ChatChunk, ChatCompletion } from "../../domain/chat.ts"
import { accumulate } from "../../domain/chatStream.ts"
import { parseStatement, type ProofClaims, type ReceiptClaims } from "../../domain/statement.ts"
import { type CommandFailed, unusable } from "../CommandFailed.ts"
import type { Evidence } from "./Evidence.ts"

export interface Verified {
  readonly kid: string
  readonly receipt?: ReceiptClaims
  readonly proof?: ProofClaims
  /** Whether the recording was found to be exactly what the proof covers. */
  readonly recorded: boolean
  readonly exchange?: ProvenExchange
}

const signerOf = (evidence: Evidence): string | undefined =>
  parseStatement(evidence.receipt ?? evidence.proof ?? "")?.kid

/**
 * The keys to check with. Keys that come along prove nothing, so without pins there must be keys of the verifier's own.
 *
 * @param own JWKs from a file that the verifier vouches for, all of which are believed
 */
export const trustFor = Effect.fnUntraced(function* (
  evidence: Evidence,
  pins: ReadonlyArray<string>,
  own: ReadonlyArray<unknown>,
) {
  const keys = { keys: [...own, ...evidence.keys] }
  const [vouched] = yield* Effect.tryPromise({
    try: () => Promise.all([keysByThumbprint({ keys: own }), keysByThumbprint(keys)]),
    catch: () => unusable("The keys are not a JWKS of Ed25519 keys."),
  })
  const believed = pins.length > 0 ? pins : [...vouched.keys()]
  if (believed.length === 0) {
    return yield* unusable(
      `The file says that ${signerOf(evidence) ?? "somebody"} signed it. Anybody can sign: ask the proxy's operator ` +
        "for their key id, and give it with --pin, or give --keys with a file of keys that you trust.",
    )
  }
  const trust: TrustOptions = { pins: believed, keys }
  return { trust, believed }
})

/** The answer that a proven exchange has; in a stream, what came before a restart is void. */
export const completionOf = ({ receipt, responses }: ProvenExchange): ChatCompletion => {
  // The frames were proven to be the proxy's, and these are the two shapes it makes.
  if (receipt.form !== "stream") return responses[0] as unknown as ChatCompletion
  const last = responses.slice(responses.findLastIndex(({ restart }) => restart !== undefined) + 1)
  return accumulate(last.map(({ delta }) => delta as ChatChunk))
}

/** Fails when the file shows something else than what was found to be signed. */
const compare = (name: string, shown: JsonObject | undefined, signed: unknown): void => {
  // Through JSON, where what is `undefined` is not there.
  if (shown !== undefined && !isDeepStrictEqual(shown, JSON.parse(JSON.stringify(signed)))) {
    throw new Tampered(`The file shows another ${name} than was signed.`)
  }
}

const verifyAll = async (evidence: Evidence, trust: TrustOptions): Promise<Verified> => {
  const exchange = evidence.exchange === undefined ? undefined : await proveExchange(evidence.exchange, trust)
  const receipt = evidence.receipt === undefined ? undefined : await verifyReceipt(evidence.receipt, trust)
  const proof = evidence.proof === undefined ? undefined : await verifyProof(evidence.proof, trust, evidence.recording)
  const claims = receipt ?? proof
  if (claims === undefined) throw new Tampered("There is nothing signed in it.")
  if (
    receipt !== undefined &&
    proof !== undefined &&
    (receipt.request_hash !== proof.request_hash ||
      receipt.session_id !== proof.session_id ||
      receipt.iss !== proof.iss)
  ) {
    throw new Tampered("The receipt and the proof are about different exchanges.")
  }
  compare("receipt", evidence.copies.receipt, receipt)
  compare("proof", evidence.copies.proof, proof)
  if (exchange !== undefined) compare("completion", evidence.copies.completion, completionOf(exchange))
  return {
    kid: claims.iss,
    recorded: proof !== undefined && evidence.recording !== undefined,
    ...(receipt === undefined ? {} : { receipt }),
    ...(proof === undefined ? {} : { proof }),
    ...(exchange === undefined ? {} : { exchange }),
  }
}

/** Fails with the `SealgateError` that says what is wrong, or with `CommandFailed` when that cannot be found out. */
export const check = (
  evidence: Evidence,
  { believed, trust }: { readonly believed: ReadonlyArray<string>; readonly trust: TrustOptions },
): Effect.Effect<Verified, SealgateError | CommandFailed> => {
  const signer = signerOf(evidence)
  if (signer !== undefined && !believed.includes(signer)) {
    return Effect.fail(new Tampered(`It is signed by ${signer}, whom you do not believe (${believed.join(", ")}).`))
  }
  return Effect.tryPromise({
    try: () => verifyAll(evidence, trust),
    catch: (error) => {
      if (error instanceof KeyMissing) {
        return unusable(
          `To check the signature of ${error.kid}, its public key is needed: ` +
            "give --keys with a JWKS, such as the proxy's /v1/keys.",
        )
      }
      // Whatever the verifiers choke on is not what it claims to be.
      return error instanceof SealgateError ? error : new Tampered("It is malformed.", { cause: error })
    },
  })
}
