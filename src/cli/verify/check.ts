/** Checks evidence against pins, offline. */
import { Effect } from "effect"
import { SealgateError, Tampered } from "../../client/errors.ts"
import { type ProvenExchange, proveExchange, verifyProof, verifyReceipt } from "../../client/verify.ts"
import { keysByThumbprint, type TrustOptions } from "../../client/trust.ts"
import { parseStatement, type ProofClaims, type ReceiptClaims } from "../../domain/statement.ts"
import { unusable } from "../CommandFailed.ts"
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
  const signer = signerOf(evidence)
  const keys = { keys: [...own, ...evidence.keys] }
  const [known, vouched] = yield* Effect.tryPromise({
    try: () => Promise.all([keysByThumbprint(keys), keysByThumbprint({ keys: own })]),
    catch: () => unusable("The keys are not a JWKS of Ed25519 keys."),
  })
  const believed = pins.length > 0 ? pins : [...vouched.keys()]
  if (believed.length === 0) {
    return yield* unusable(
      `The file says that ${signer ?? "somebody"} signed it. Anybody can sign: ask the proxy's operator for their key id, ` +
        "and give it with --pin, or give --keys with a file of keys that you trust.",
    )
  }
  if (signer !== undefined && believed.includes(signer) && !known.has(signer)) {
    return yield* unusable(
      `To check the signature of ${signer}, its public key is needed: give --keys with a JWKS, such as the proxy's /v1/keys.`,
    )
  }
  const trust: TrustOptions = { pins: believed, keys }
  return { trust, believed }
})

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
  return {
    kid: claims.iss,
    recorded: proof !== undefined && evidence.recording !== undefined,
    ...(receipt === undefined ? {} : { receipt }),
    ...(proof === undefined ? {} : { proof }),
    ...(exchange === undefined ? {} : { exchange }),
  }
}

/** Fails with the `SealgateError` that says what is wrong. */
export const check = (
  evidence: Evidence,
  { believed, trust }: { readonly believed: ReadonlyArray<string>; readonly trust: TrustOptions },
): Effect.Effect<Verified, SealgateError> => {
  const signer = signerOf(evidence)
  if (signer !== undefined && !believed.includes(signer)) {
    return Effect.fail(new Tampered(`It is signed by ${signer}, whom you do not believe (${believed.join(", ")}).`))
  }
  return Effect.tryPromise({
    try: () => verifyAll(evidence, trust),
    // Whatever the verifiers choke on is not what it claims to be.
    catch: (error) => (error instanceof SealgateError ? error : new Tampered("It is malformed.", { cause: error })),
  })
}
