/** Policy files that must not be believed. */
import { POLICY_TYPE } from "../../../src/attestation/policy.ts"
import { decodePolicy, openPolicy } from "../../../src/attestation/readPolicy.ts"
import { encodeBase64Url, utf8 } from "../../../src/domain/bytes/bytes.ts"
import { ACCEPTED_CONFIGURATION } from "../support/configuration.ts"
import type { Refusal } from "./refusal.ts"

const HEX48 = "00".repeat(48)
const SNP = {
  format: "sev-snp",
  measurements: [HEX48],
  products: ["Genoa"],
  minimum_tcb: { bootloader: 1, tee: 0, snp: 2, microcode: 3 },
}
const REGISTERS = { mrtd: HEX48, rtmr0: HEX48, rtmr1: HEX48, rtmr2: HEX48 }
const TDX = {
  format: "tdx",
  measurements: [{ ...REGISTERS, rtmr3: HEX48 }],
  statuses: ["UpToDate"],
  advisories: [],
  tcb_update: "early",
}
const DSTACK = {
  format: "dstack",
  measurements: [REGISTERS],
  compose_hashes: ["00".repeat(32)],
  app_ids: ["00".repeat(20)],
  key_providers: ["kms:00"],
  statuses: ["UpToDate"],
  advisories: [],
}
const SPACE = {
  format: "confidential-space",
  image_digests: [`sha256:${"00".repeat(32)}`],
  hardware: ["GCP_INTEL_TDX"],
  audience: "https://sealgate/evidence",
  environment: [],
  minimum_swversion: "250301",
  tcb_statuses: ["UpToDate"],
}
const PROVIDER = { vendor: "OpenAI", base_url: "https://api.openai.com/v1", sealed_pins: null }

/** Claims of a policy that decodes. */
export const POLICY = {
  accept: [SNP, TDX, DSTACK, SPACE],
  configuration: ACCEPTED_CONFIGURATION,
  deny: { chips: [], kids: [] },
  expires: 1,
}

const entry = (change: object) => ({ ...POLICY, accept: [change] })
const configuration = (change: object) => ({ ...POLICY, configuration: { ...ACCEPTED_CONFIGURATION, ...change } })

const malformed: Readonly<Record<string, unknown>> = {
  "an unknown member": { ...POLICY, root: "" },
  "an unknown member of an entry": entry({ ...SNP, debug: true }),
  "an unknown member of a TDX entry": entry({ ...TDX, debug: true }),
  "an unknown member of a dstack entry": entry({ ...DSTACK, kms: "" }),
  "an unknown member of a Confidential Space entry": entry({ ...SPACE, issuer: "" }),
  "an unknown member of deny": { ...POLICY, deny: { ...POLICY.deny, hosts: [] } },
  "an unknown member of the configuration": configuration({ hosts: [] }),
  "an object as accept": { ...POLICY, accept: {} },
  "an unknown format": entry({ ...SNP, format: "sev" }),
  "an unknown product": entry({ ...SNP, products: ["Rome"] }),
  "a short measurement": entry({ ...SNP, measurements: ["00"] }),
  "a measurement in capitals": entry({ ...SNP, measurements: ["AB".repeat(48)] }),
  "no code at all": entry({ ...SNP, measurements: undefined }),
  "a minimum TCB without microcode": entry({ ...SNP, minimum_tcb: { bootloader: 1, tee: 0, snp: 2 } }),
  "a minimum TCB over 255": entry({ ...SNP, minimum_tcb: { ...SNP.minimum_tcb, snp: 256 } }),
  "TDX without RTMR3": entry({ ...TDX, measurements: [REGISTERS] }),
  "dstack with RTMR3": entry({ ...DSTACK, measurements: [{ ...REGISTERS, rtmr3: HEX48 }] }),
  "dstack without a key provider": entry({ ...DSTACK, key_providers: undefined }),
  "a key provider without its kind": entry({ ...DSTACK, key_providers: ["3059"] }),
  "dstack without an app id": entry({ ...DSTACK, app_ids: undefined }),
  "HOST_DATA without a measurement, though hosts choose it": entry({
    ...SNP,
    measurements: undefined,
    host_data: [HEX48.slice(32)],
  }),
  "no statuses": entry({ ...TDX, statuses: undefined }),
  "a TCB date that is none": entry({ ...TDX, minimum_tcb_date: "soon" }),
  "a TCB date of month 13": entry({ ...TDX, minimum_tcb_date: "2026-13-01" }),
  "an unknown set of TCB data": entry({ ...TDX, tcb_update: "latest" }),
  "an unknown set of TCB data for dstack": entry({ ...DSTACK, tcb_update: true }),
  "plain SEV as hardware": entry({ ...SPACE, hardware: ["GCP_AMD_SEV"] }),
  "a version of Confidential Space that is none": entry({ ...SPACE, minimum_swversion: "latest" }),
  "a TCB status that is no list": entry({ ...SPACE, tcb_statuses: "UpToDate" }),
  "an image by its tag": entry({ ...SPACE, image_digests: ["sealgate:latest"] }),
  "no audience": entry({ ...SPACE, audience: undefined }),
  "no software": configuration({ software: [] }),
  "software without a digest": configuration({ software: [{ version: "sealgate/0.1.0" }] }),
  "a URL as an origin": configuration({ outgoing_proxies: ["https://api.openai.com/v1"] }),
  "a provider without its pins": configuration({
    providers: [{ vendor: "OpenAI", base_url: "https://api.openai.com/v1" }],
  }),
  "a provider without a URL": configuration({ providers: [{ ...PROVIDER, base_url: "api.openai.com" }] }),
  "a pin that is malformed": configuration({ providers: [{ ...PROVIDER, sealed_pins: ["AA"] }] }),
  "an unknown member of a provider": configuration({ providers: [{ ...PROVIDER, slot: "provider1" }] }),
  "telemetry to any place": configuration({ telemetry: "any" }),
  "a denied key that is malformed": { ...POLICY, deny: { chips: [], kids: ["AA"] } },
  "no expiry": { ...POLICY, expires: undefined },
  "an expiry as text": { ...POLICY, expires: "2027" },
  "no deny": { ...POLICY, deny: undefined },
  "text as claims": "policy",
}

const KID = "A".repeat(43)
const part = (value: unknown): string => encodeBase64Url(utf8(JSON.stringify(value)))
const jws = (header: object): string => `${part(header)}.${part(POLICY)}.${encodeBase64Url(new Uint8Array(64))}`
const HEADER = { alg: "Ed25519", typ: POLICY_TYPE, kid: KID }
const isValid = async () => true

export const POLICY_REFUSALS: ReadonlyArray<Refusal> = [
  ...Object.entries(malformed).map(([name, claims]): Refusal => [
    `${name} in a policy`,
    "policy-malformed",
    () => decodePolicy(claims),
  ]),
  ["a policy that is not a JWS", "policy-malformed", () => openPolicy(JSON.stringify(POLICY), KID, isValid)],
  ["a policy of another signer", "policy-signature", () => openPolicy(jws(HEADER), "B".repeat(43), isValid)],
  [
    "a receipt in place of a policy",
    "policy-signature",
    () => openPolicy(jws({ ...HEADER, typ: "sealgate-receipt+jwt" }), KID, isValid),
  ],
  ["a policy with a wrong signature", "policy-signature", () => openPolicy(jws(HEADER), KID, async () => false)],
]
