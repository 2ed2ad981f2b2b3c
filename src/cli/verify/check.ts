/** Checks evidence against pins, offline. */
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { provenAnswer } from "../../client/verification/provenAnswer.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { KeyMissing, SealgateError, Tampered } from "../../client/errors.ts"
import { type VerifiedEvidence, verifyEvidence } from "../../client/verification/verify.ts"
import { keysByThumbprint, type TrustOptions } from "../../client/verification/trust.ts"
import { parseStatement } from "../../domain/protocol/statement.ts"
import { type CommandFailed, unusable } from "../CommandFailed.ts"
import type { Evidence } from "./Evidence.ts"

export interface Verified extends Omit<VerifiedEvidence, "iss"> {
  readonly kid: string
  /** Whether there is a recording, which was found to be exactly what the proof covers. */
  readonly recorded: boolean
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

/** Fails when the file shows something else than what was found to be signed. */
const compare = (name: string, shown: JsonObject | undefined, signed: unknown): void => {
  // Through JSON, where what is `undefined` is not there.
  if (shown !== undefined && !isDeepStrictEqual(shown, JSON.parse(JSON.stringify(signed)))) {
    throw new Tampered(`The file shows another ${name} than was signed.`)
  }
}

const verifyAll = async (evidence: Evidence, trust: TrustOptions): Promise<Verified> => {
  const { iss, ...verified } = await verifyEvidence(evidence, trust)
  const { exchange, proof, receipt } = verified
  compare("receipt", evidence.copies.receipt, receipt)
  compare("proof", evidence.copies.proof, proof)
  if (exchange !== undefined) compare("completion", evidence.copies.completion, provenAnswer(exchange)?.answer ?? null)
  return { kid: iss, recorded: evidence.recording !== undefined, ...verified }
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
      // An input that makes the verifiers throw is not what it claims to be.
      return error instanceof SealgateError ? error : new Tampered("It is malformed.", { cause: error })
    },
  })
}
