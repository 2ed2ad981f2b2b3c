/** Evidence of the code, configuration and hardware behind a key: the answer of `POST /v1/evidence`, decoded. */
import { type Bytes, decodeBase64Url } from "../domain/bytes/bytes.ts"
import { isObject } from "../domain/json/json.ts"
import { EVIDENCE_FORMATS, type EvidenceFormat } from "../domain/protocol/evidence.ts"
import { HASH_BYTES } from "../domain/protocol/transcript.ts"
import { MAX_PATH, type NoncePath } from "./binding.ts"
import { EvidenceFailure } from "./failure.ts"
import type { SnpFirmware } from "./policy.ts"

export interface ProxyEvidence {
  readonly format: EvidenceFormat
  /** Thumbprint of the proxy's attestation key, 32 bytes. */
  readonly kid: Bytes
  /** I-JSON of the running configuration. */
  readonly configuration: Bytes
  /**
   * - `sev-snp`: the attestation report, 1184 bytes (AMD 56860).
   * - `tdx`, `dstack`: the quote with its PCK chain in PEM (Intel TDX DCAP quoting library API).
   * - `confidential-space`: the token, a compact JWS with its chain in `x5c`, as ASCII.
   */
  readonly report: Bytes
  /**
   * Collateral that the machine adds to its report. The verifying side fetches the vendors' collateral itself.
   * - `sev-snp`: the host's certificate table (AMD 56421), if there is one.
   * - `dstack`: UTF-8 JSON with `event_log` as dstack's `GetQuote` gives it (a string), and `app_compose`, the exact text.
   */
  readonly collateral?: Bytes
  /** From the client's nonce to the root that the report covers. */
  readonly path: NoncePath
}

/** Largest decoded member of evidence, in bytes. */
const MAX_MEMBER_BYTES = 256 * 1024

const bytesIn = (object: Record<string, unknown>, name: string, length?: number): Bytes => {
  const text = object[name]
  const bytes = typeof text === "string" && text.length < 2 * MAX_MEMBER_BYTES ? decodeBase64Url(text) : undefined
  if (bytes === undefined || bytes.length > MAX_MEMBER_BYTES || (length !== undefined && bytes.length !== length)) {
    throw new EvidenceFailure("answer-malformed", `The evidence's ${name} is not base64url of the expected length.`)
  }
  return bytes
}

const pathIn = (value: unknown): NoncePath => {
  const { index, size, hashes } = isObject(value) ? value : {}
  if (typeof index !== "number" || typeof size !== "number" || !Array.isArray(hashes) || hashes.length > MAX_PATH) {
    throw new EvidenceFailure("answer-malformed", "The evidence's path needs index, size and at most 32 hashes.")
  }
  return { index, size, hashes: hashes.map((hash: unknown) => bytesIn({ hash }, "hash", HASH_BYTES)) }
}

/** Decodes the parsed JSON of an answer. Throws an {@link EvidenceFailure} that names the malformed member. */
export const decodeEvidence = (answer: unknown): ProxyEvidence => {
  if (!isObject(answer)) throw new EvidenceFailure("answer-malformed", "The evidence is not a JSON object.")
  const format = EVIDENCE_FORMATS.find((each) => each === answer["format"])
  if (format === undefined) throw new EvidenceFailure("answer-malformed", "The evidence's format is unknown.")
  return {
    format,
    kid: bytesIn(answer, "kid", HASH_BYTES),
    configuration: bytesIn(answer, "configuration"),
    report: bytesIn(answer, "report"),
    ...(answer["collateral"] === undefined ? {} : { collateral: bytesIn(answer, "collateral") }),
    path: pathIn(answer["path"]),
  }
}

/** Facts that verification established. */
export interface VerifiedAttestation {
  readonly format: EvidenceFormat
  /** Base64url. */
  readonly kid: string
  /** The code: measurement, HOST_DATA, compose hash or image digest, as the policy names it. */
  readonly measurement: string
  /** Such as `AMD Genoa`, `Intel TDX`, `GCP_INTEL_TDX`. */
  readonly hardware: string
  /** Chip id or FMSPC as hexadecimal, if the format has one. */
  readonly chip?: string
  /** SEV-SNP: versions of the firmware as reported, and the oldest to which the host can return. */
  readonly tcb?: SnpFirmware
  /** Seconds since the epoch: the earliest end of certificates, revocation lists, collateral, token and policy. */
  readonly validUntil: number
}
