/** The policy file: which code, configuration and hardware a client accepts. */
import type { AmdProduct } from "./roots.ts"

/** Minimum security versions of AMD's firmware; `fmc` exists only on Turin (AMD 56860, table TCB_VERSION). */
export interface SnpTcb {
  readonly bootloader: number
  readonly tee: number
  readonly snp: number
  readonly microcode: number
  readonly fmc?: number
}

export interface SnpFirmware {
  readonly reported: SnpTcb
  readonly committed: SnpTcb
}

export interface AcceptedSnp {
  readonly format: "sev-snp"
  /** Launch measurements, 48 bytes as lower-case hexadecimal. */
  readonly measurements: ReadonlyArray<string>
  /** HOST_DATA, 32 bytes as lower-case hexadecimal; any if absent. The host chooses it, so alone it proves nothing. */
  readonly host_data?: ReadonlyArray<string>
  readonly products: ReadonlyArray<AmdProduct>
  readonly minimum_tcb: SnpTcb
}

/** Registers of a TDX guest, 48 bytes each as lower-case hexadecimal. */
export interface TdxMeasurement {
  readonly mrtd: string
  readonly rtmr0: string
  readonly rtmr1: string
  readonly rtmr2: string
}

/** Set of Intel's TCB data: `standard` may be 12 months behind `early` (PCS API v4, parameter `update`). */
export type TcbUpdate = "standard" | "early"

export interface AcceptedIntel {
  /** Accepted TCB statuses of Intel: `UpToDate`, and others by name. `Revoked` is never accepted. */
  readonly statuses: ReadonlyArray<string>
  /** Advisories (INTEL-SA-…, INTEL-DOC-…) that an accepted status may carry. */
  readonly advisories: ReadonlyArray<string>
  /** ISO date, such as `2025-05-14`: the oldest accepted TCB level of platform, module and quoting enclave. Any if absent. */
  readonly minimum_tcb_date?: string
  /** Default: `standard`. If one entry of a format says `early`, all are judged by it. */
  readonly tcb_update?: TcbUpdate
}

export interface AcceptedTdx extends AcceptedIntel {
  readonly format: "tdx"
  readonly measurements: ReadonlyArray<TdxMeasurement & { readonly rtmr3: string }>
}

export interface AcceptedDstack extends AcceptedIntel {
  readonly format: "dstack"
  /** Of the operating system's image and the virtual hardware. RTMR3 is replayed from the event log. */
  readonly measurements: ReadonlyArray<TdxMeasurement>
  /** SHA-256 of the app-compose bytes, lower-case hexadecimal. */
  readonly compose_hashes: ReadonlyArray<string>
  /** Lower-case hexadecimal. The app's owner can give other code the proxy's identity. */
  readonly app_ids: ReadonlyArray<string>
  /** Kind and id of the key provider, such as `kms:3059…`. The holder of its root key can derive the proxy's identity. */
  readonly key_providers: ReadonlyArray<string>
}

export interface AcceptedSpace {
  readonly format: "confidential-space"
  /** `sha256:…` of the container image. */
  readonly image_digests: ReadonlyArray<string>
  /** `hwmodel` values; plain SEV is not among the permitted ones. */
  readonly hardware: ReadonlyArray<"GCP_INTEL_TDX">
  readonly audience: string
  /** Project ids of Google Cloud; any if absent. */
  readonly projects?: ReadonlyArray<string>
  /** Names of environment variables that an operator may override. */
  readonly environment: ReadonlyArray<string>
  /** Oldest image of Confidential Space (`swversion`, year, month and counter, such as `250301`); any if absent. */
  readonly minimum_swversion?: string
  /**
   * Accepted TCB statuses of the machine (`gcp_attester_tcb_status`); any if absent. `Revoked` is never
   * accepted. Google's status dates from its firmware roll-out, so Intel's may be newer.
   */
  readonly tcb_statuses?: ReadonlyArray<string>
}

export type Accepted = AcceptedSnp | AcceptedTdx | AcceptedDstack | AcceptedSpace

/** A provider as the configuration shows it. */
export interface AcceptedProvider {
  /** Title, such as `OpenAI`. */
  readonly vendor: string
  /** The whole URL without final slashes: paths of one origin may belong to accounts of different owners. */
  readonly base_url: string
  /** Pins of the sealed proxy there, in any order; `null`: calls are not sealed. */
  readonly sealed_pins: ReadonlyArray<string> | null
}

/** Allowed values of the attested configuration. */
export interface AcceptedConfiguration {
  /** Versions of the software with their digests, which are base64url of 32 bytes. At least one. */
  readonly software: ReadonlyArray<{ readonly version: string; readonly digest: string }>
  /** Each attested provider must be one of them. */
  readonly providers: ReadonlyArray<AcceptedProvider>
  /** Permitted origins of outgoing proxies, such as `http://proxy.example:3128`. No proxy is always permitted. */
  readonly outgoing_proxies: ReadonlyArray<string>
  /** `none`, or origins of telemetry endpoints. */
  readonly telemetry: "none" | ReadonlyArray<string>
  /** Base64url of the SHA-256 of permitted files with extra certificate authorities. No such file is always permitted. */
  readonly extra_ca: ReadonlyArray<string>
  readonly node: {
    /** Such as `v26.0.0`. */
    readonly versions: ReadonlyArray<string>
    readonly flags: ReadonlyArray<string>
  }
  /** Places of session keys, such as `memory`. */
  readonly key_storage: ReadonlyArray<string>
}

export interface EvidencePolicy {
  readonly accept: ReadonlyArray<Accepted>
  readonly configuration: AcceptedConfiguration
  readonly deny: {
    /** Chip ids (SEV-SNP, 64 bytes) and PPIDs (TDX), lower-case hexadecimal. */
    readonly chips: ReadonlyArray<string>
    /** Base64url of 32 bytes. */
    readonly kids: ReadonlyArray<string>
  }
  /** Seconds since the epoch. */
  readonly expires: number
}

/** `typ` of a signed policy, a compact JWS by the rules of statements. */
export const POLICY_TYPE = "sealgate-policy+jwt"

/** Largest policy file, in bytes. */
export const MAX_POLICY_BYTES = 64 * 1024
