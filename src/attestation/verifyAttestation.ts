/** Verifies evidence against nonce, policy and roots. Pure: clock, collateral, policy and roots are parameters. */
import { encodeBase64Url } from "../domain/bytes/bytes.ts"
import { bindingOf, rootOf } from "./binding.ts"
import type { Collateral, CollateralSource } from "./collateral.ts"
import { collateralNeedOf } from "./collateralNeed.ts"
import { checkConfiguration } from "./configuration.ts"
import type { ProxyEvidence, VerifiedAttestation } from "./evidence.ts"
import { EvidenceFailure, must } from "./failure.ts"
import type { FormatFacts } from "./format.ts"
import type { Accepted, EvidencePolicy, TcbUpdate } from "./policy.ts"
import type { EvidenceRoots } from "./roots.ts"
import { verifySevSnp } from "./sevSnp/verify.ts"
import { verifySpace } from "./space/verify.ts"
import { verifyTdx } from "./tdx/verify.ts"

export interface AttestationCheck {
  /** The proxy's answer, decoded by `decodeEvidence`. */
  readonly evidence: ProxyEvidence
  /** The collateral that `collateralNeedOf` asks for. */
  readonly collateral: Collateral
  /** The 32 bytes that the client sent. */
  readonly nonce: Uint8Array
  readonly policy: EvidencePolicy
  /** Seconds since the epoch. */
  readonly now: number
  /** `PINNED_ROOTS`, except in tests. */
  readonly roots: EvidenceRoots
}

const entriesOf = <Format extends Accepted["format"]>(policy: EvidencePolicy, format: Format) => {
  const entries = policy.accept.filter(
    (entry): entry is Extract<Accepted, { readonly format: Format }> => entry.format === format,
  )
  must(entries.length > 0, "format-not-accepted", `The policy does not accept evidence of ${format}.`)
  return entries
}

/** Collateral of the wanted kind; another one proves nothing. */
const ofKind = <Kind extends Collateral["kind"]>(collateral: Collateral, kind: Kind) => {
  const isIt = (each: Collateral): each is Extract<Collateral, { readonly kind: Kind }> => each.kind === kind
  if (isIt(collateral)) return collateral
  throw new EvidenceFailure("collateral-missing", `The evidence needs collateral of ${kind}, not ${collateral.kind}.`)
}

type Claims = Omit<AttestationCheck, "collateral">

const factsOf = ({ evidence, policy, now, roots, collateral }: AttestationCheck, binding: Uint8Array): FormatFacts => {
  const common = { evidence, binding, deny: policy.deny, now, roots }
  const { format } = evidence
  if (format === "sev-snp") {
    return verifySevSnp({ ...common, accepted: entriesOf(policy, format) }, ofKind(collateral, "amd"))
  }
  if (format === "tdx")
    return verifyTdx({ ...common, accepted: entriesOf(policy, format) }, ofKind(collateral, "intel"))
  if (format === "dstack") {
    return verifyTdx({ ...common, accepted: entriesOf(policy, format) }, ofKind(collateral, "intel"))
  }
  return verifySpace({ ...common, accepted: entriesOf(policy, format) })
}

/** Checks all that needs neither report nor collateral, and returns the binding that the report must contain. */
const checkClaims = ({ evidence, nonce, policy, now }: Claims): Uint8Array => {
  must(now < policy.expires, "policy-expired", "The policy has expired. Get a newer one from its signer.")
  must(!policy.deny.kids.includes(encodeBase64Url(evidence.kid)), "kid-denied", "The policy denies this key.")
  entriesOf(policy, evidence.format)
  const root = rootOf(nonce, evidence.path)
  must(root !== undefined, "path-wrong", "The path does not lead from the nonce to a root.")
  checkConfiguration(evidence.configuration, policy.configuration)
  return bindingOf({ kid: evidence.kid, configuration: evidence.configuration, root })
}

/** Returns the facts that the evidence proves. Throws an `EvidenceFailure` at the first failed check. Needs Node's crypto. */
export const verifyAttestation = (check: AttestationCheck): VerifiedAttestation => {
  const { evidence, policy } = check
  const facts = factsOf(check, checkClaims(check))
  const kid = encodeBase64Url(evidence.kid)
  return { format: evidence.format, kid, ...facts, validUntil: Math.min(facts.validUntil, policy.expires) }
}

const updateOf = (policy: EvidencePolicy, format: Accepted["format"]): TcbUpdate =>
  entriesOf(policy, format).some((entry) => "tcb_update" in entry && entry.tcb_update === "early")
    ? "early"
    : "standard"

/** Failures that a new certificate from the vendor may fix. */
const ABOUT_CERTIFICATE = /^(certificate-malformed$|chain-|signature-|snp-leaf-)/

interface ProvenAttestation {
  readonly verified: VerifiedAttestation
  readonly collateral: Collateral
  /** The time of the verification, in seconds since the epoch. */
  readonly now: number
}

/**
 * Checks everything that needs no collateral, then fetches the collateral and verifies. Reads the clock after the fetch,
 * because vendors may sign on request. Resolves to the facts, and to everything needed to verify the evidence again later.
 * Rejects with an `EvidenceFailure`.
 *
 * @param clock seconds since the epoch
 */
export const proveAttestation = async (
  check: Omit<Claims, "now">,
  source: CollateralSource,
  clock: () => number,
  signal?: AbortSignal,
): Promise<ProvenAttestation> => {
  checkClaims({ ...check, now: clock() })
  const { evidence, policy } = check
  const need = collateralNeedOf(evidence, updateOf(policy, evidence.format))
  const collateral = await source.collateralFor(need, signal)
  const now = clock()
  try {
    return { verified: verifyAttestation({ ...check, now, collateral }), collateral, now }
  } catch (error) {
    if (error instanceof EvidenceFailure && ABOUT_CERTIFICATE.test(error.code)) source.refused?.(need)
    throw error
  }
}
