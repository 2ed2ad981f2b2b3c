/** The client's view of a policy: it judges evidence of the code behind a proxy's key. `readPolicy` makes one. */
import type { SnpFirmware } from "../../attestation/policy.ts"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { EvidenceFormat } from "../../domain/protocol/evidence.ts"

/** Everything needed to verify evidence again, offline. It is JSON and holds no prompt. */
export interface KeptEvidence {
  /** The nonce that was sent, base64url. */
  readonly nonce: string
  /** The answer of `POST /v1/evidence`. */
  readonly answer: JsonObject
  /** Documents of the hardware's vendors with which it was verified. */
  readonly collateral: JsonObject
  /** When it was verified, in seconds since the epoch, by this machine's clock. */
  readonly verified_at: number
}

/** The result of verified evidence: a key, and the code, configuration and hardware that hold it. */
export interface ProvenCode {
  readonly format: EvidenceFormat
  /** The proxy's attestation key. */
  readonly kid: string
  /** SHA-256 of the configuration, base64url, as in the session statement's claim. */
  readonly configuration: string
  /** The code: measurement, HOST_DATA, compose hash or image digest, as the policy names it. */
  readonly measurement: string
  /** Such as `AMD Genoa`. */
  readonly hardware: string
  /** Hexadecimal, if the format has one. */
  readonly chip?: string
  /** SEV-SNP: versions of the firmware as reported, and the oldest to which the host can return. */
  readonly tcb?: SnpFirmware
  /** Seconds since the epoch: the earliest end of certificates, revocation lists, collateral, token and policy. */
  readonly validUntil: number
  readonly kept: KeptEvidence
}

export interface Policy {
  /** Verifies the answer to this nonce, of 32 bytes. Rejects with `EvidenceRefused`. */
  readonly judge: (answer: JsonObject, nonce: Bytes) => Promise<ProvenCode>
}
