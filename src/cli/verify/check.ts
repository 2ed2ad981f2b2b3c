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
import type { StoredEvidence } from "./Evidence.ts"

export interface Verified extends Omit<VerifiedEvidence, "iss"> {
  readonly kid: string
  /** Whether a recording was checked against the proof. */
  readonly recorded: boolean
}

const signerOf = (evidence: StoredEvidence): string | undefined =>
  parseStatement(evidence.receipt ?? evidence.proof ?? "")?.kid

/**
 * Returns the keys to check with. Keys in the evidence prove nothing, so there must be pins or the verifier's own keys.
 *
 * @param own JWKs from a local file of the verifier, all trusted
 */
export const trustFor = Effect.fnUntraced(function* (
  evidence: StoredEvidence,
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
      `The file claims to be signed by ${signerOf(evidence) ?? "an unknown key"}, but anybody can sign: ask the proxy's ` +
        "operator for the pin and give it with --pin, or give --keys with a file of keys that you trust.",
    )
  }
  const trust: TrustOptions = { pins: believed, keys }
  return { trust, believed }
})

/** Fails if a readable copy differs from the signed content. */
const compare = (name: string, shown: JsonObject | undefined, signed: unknown): void => {
  // The JSON round trip removes `undefined` members.
  if (shown !== undefined && !isDeepStrictEqual(shown, JSON.parse(JSON.stringify(signed)))) {
    throw new Tampered(`The ${name} in the file is not the signed one.`)
  }
}

const verifyAll = async (evidence: StoredEvidence, trust: TrustOptions): Promise<Verified> => {
  const { iss, ...verified } = await verifyEvidence(evidence, trust)
  const { exchange, proof, receipt } = verified
  compare("receipt", evidence.copies.receipt, receipt)
  compare("proof", evidence.copies.proof, proof)
  if (exchange !== undefined) compare("completion", evidence.copies.completion, provenAnswer(exchange)?.answer ?? null)
  return { kid: iss, recorded: evidence.recording !== undefined, ...verified }
}

/** Fails with a `SealgateError` if the evidence is not genuine, with `CommandFailed` if it cannot be checked. */
export const check = (
  evidence: StoredEvidence,
  { believed, trust }: { readonly believed: ReadonlyArray<string>; readonly trust: TrustOptions },
): Effect.Effect<Verified, SealgateError | CommandFailed> => {
  const signer = signerOf(evidence)
  if (signer !== undefined && !believed.includes(signer)) {
    return Effect.fail(new Tampered(`It is signed by ${signer}, which is not a trusted key (${believed.join(", ")}).`))
  }
  return Effect.tryPromise({
    try: () => verifyAll(evidence, trust),
    catch: (error) => {
      if (error instanceof KeyMissing) {
        return unusable(
          `The public key of ${error.kid} is needed to check the signature: ` +
            "give --keys with a JWKS, such as the proxy's /v1/keys.",
        )
      }
      // Input that crashes the verifiers is not genuine.
      return error instanceof SealgateError ? error : new Tampered("It is malformed.", { cause: error })
    },
  })
}
