/** Policies that judge evidence with the verifiers. Needs Node's crypto, so browsers cannot load it. */
import { encodeBase64Url } from "../../domain/bytes/bytes.ts"
import { decodeEvidence } from "../../attestation/evidence.ts"
import { EvidenceFailure } from "../../attestation/failure.ts"
import { type EvidencePolicy, MAX_POLICY_BYTES } from "../../attestation/policy.ts"
import { openPolicy } from "../../attestation/readPolicy.ts"
import { type EvidenceRoots, PINNED_ROOTS } from "../../attestation/roots.ts"
import { proveAttestation } from "../../attestation/verifyAttestation.ts"
import { type CollateralSource, encodeCollateral } from "../../attestation/collateral.ts"
import { vendorCollateral } from "../../collateral/vendorCollateral.ts"
import { verifyEd25519 } from "../crypto/ed25519.ts"
import { sha256 } from "../crypto/primitives.ts"
import { EvidenceRefused } from "../errors.ts"
import { parseObject } from "../verification/decode.ts"
import { keysByThumbprint } from "../verification/trust.ts"
import type { Policy } from "./Policy.ts"

export interface JudgeOptions {
  /** Roots of AMD, Intel and Google; default: the pinned ones. */
  readonly roots?: EvidenceRoots
  /** Source of certificates and revocation lists; default: the services of AMD and Intel, over HTTPS. */
  readonly collateral?: CollateralSource
  /** Seconds since the epoch; default: this machine's clock. For evidence that was kept. */
  readonly now?: () => number
}

export interface PolicyOptions extends JudgeOptions {
  /** Key id (`kid`) of the policy's signer. */
  readonly signer: string
}

/** Turns failures of the verifiers into the client's error. */
const refused = (error: unknown): never => {
  if (error instanceof EvidenceFailure) throw new EvidenceRefused(error.code, error.message)
  throw error
}

const clock = (): number => Math.floor(Date.now() / 1000)

/** Returns a policy that judges by these rules, for programs that hold them as an object. */
export const policyOf = (
  rules: EvidencePolicy,
  { collateral: source = vendorCollateral(), now = clock, roots = PINNED_ROOTS }: JudgeOptions = {},
): Policy => ({
  judge: async (answer, nonce) => {
    try {
      const evidence = decodeEvidence(answer)
      const check = { evidence, nonce, policy: rules, roots }
      const { collateral, now: verifiedAt, verified } = await proveAttestation(check, source, now)
      return {
        ...verified,
        configuration: encodeBase64Url(await sha256(evidence.configuration)),
        kept: {
          nonce: encodeBase64Url(nonce),
          answer,
          collateral: encodeCollateral(collateral),
          verified_at: verifiedAt,
        },
      }
    } catch (error) {
      return refused(error)
    }
  },
})

/** Reads the rules of a signed policy file; see {@link readPolicy}. */
export const readRules = async (file: string, signer: string): Promise<EvidencePolicy> => {
  if (file.length > MAX_POLICY_BYTES) {
    throw new EvidenceRefused("policy-malformed", `A policy file has at most ${MAX_POLICY_BYTES} bytes.`)
  }
  const { keys, policy } = parseObject(file, "The policy file")
  if (typeof policy !== "string" || !Array.isArray(keys)) {
    throw new EvidenceRefused("policy-malformed", "A policy file has the members policy and keys.")
  }
  const key = (await keysByThumbprint({ keys })).get(signer)
  if (key === undefined) throw new EvidenceRefused("policy-signature", `The policy is not signed by ${signer}.`)
  return openPolicy(policy, signer, (signature, message) => verifyEd25519(signature, message, key)).catch(refused)
}

/**
 * Reads a policy file: JSON with `policy`, a compact JWS, and `keys`, the JWK of its signer; at most 64 KiB. Rejects with
 * `EvidenceRefused` if it is malformed or not signed by `signer`, with `Tampered` if it is not I-JSON.
 *
 * @example
 * const policy = await readPolicy(await readFile("policy.json", "utf8"), { signer: "GjmH…" })
 * const client = new SealedClient({ baseUrl: "https://proxy.example.com", policy })
 */
export const readPolicy = async (file: string, { signer, ...options }: PolicyOptions): Promise<Policy> =>
  policyOf(await readRules(file, signer), options)
