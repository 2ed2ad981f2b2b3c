/** Rules that accept exactly what evidence shows: trust on first use. */
import { collateralNeedOf } from "../../attestation/collateralNeed.ts"
import type { ProxyEvidence } from "../../attestation/evidence.ts"
import { EvidenceFailure, must } from "../../attestation/failure.ts"
import type { Accepted, AcceptedProvider, EvidencePolicy, SnpTcb } from "../../attestation/policy.ts"
import { readReport, tcbOf } from "../../attestation/sevSnp/report.ts"
import { swversionIn } from "../../attestation/space/claims.ts"
import { checkEventLog } from "../../attestation/tdx/dstack.ts"
import { readQuote } from "../../attestation/tdx/quote.ts"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"

/** Names that are accepted only if a person names them: a TCB status, an advisory, the product Milan, or an overridden variable. */
export type Names = ReadonlyArray<string>

const ADVISORY = /^INTEL-(?:SA|DOC)-\d+$/

const lowest = (tcbs: ReadonlyArray<SnpTcb>): SnpTcb => {
  const least = (part: keyof SnpTcb) => Math.min(...tcbs.map((tcb) => tcb[part] ?? 0))
  return {
    bootloader: least("bootloader"),
    tee: least("tee"),
    snp: least("snp"),
    microcode: least("microcode"),
    fmc: least("fmc"),
  }
}

const snpEntry = (evidence: ProxyEvidence, names: Names): Accepted => {
  const need = collateralNeedOf(evidence)
  if (need.kind !== "amd") throw new EvidenceFailure("answer-malformed", "The evidence is not from AMD.")
  if (need.product === "Milan" && !names.includes("Milan")) {
    throw new EvidenceFailure(
      "snp-product-not-accepted",
      "The machine is a Milan, whose keys software can read (arXiv 2605.12990). To accept it, pass --accept Milan.",
    )
  }
  const { measurement, tcbs } = readReport(evidence.report)
  return {
    format: "sev-snp",
    measurements: [measurement],
    products: [need.product],
    minimum_tcb: lowest(Object.values(tcbs).map((tcb) => tcbOf(tcb, need.product))),
  }
}

/** Replaces invalid UTF-8. The verifier would refuse it, but runs only once there are rules. */
const textIn = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const jsonIn = (bytes: Uint8Array): JsonObject => {
  const value = parseJson(textIn(bytes))
  return isObject(value) ? value : {}
}

const textOf = (object: unknown, member: string): string => {
  const value = isObject(object) ? object[member] : undefined
  must(typeof value === "string", "answer-malformed", `The evidence has no text as ${member}.`)
  return value
}

const tdxEntry = ({ collateral, format, report }: ProxyEvidence, names: Names): Accepted => {
  const { mrtd, rtmr } = readQuote(report).body
  const [rtmr0, rtmr1, rtmr2, rtmr3] = rtmr
  const statuses = ["UpToDate", ...names.filter((name) => !ADVISORY.test(name))]
  const advisories = names.filter((name) => ADVISORY.test(name))
  if (format === "tdx") {
    return { format, measurements: [{ mrtd, rtmr0, rtmr1, rtmr2, rtmr3 }], statuses, advisories }
  }
  const { appId, composeHash, keyProvider } = checkEventLog(collateral, rtmr3)
  return {
    format: "dstack",
    measurements: [{ mrtd, rtmr0, rtmr1, rtmr2 }],
    compose_hashes: [composeHash],
    app_ids: [appId],
    key_providers: [keyProvider],
    statuses,
    advisories,
  }
}

const spaceEntry = ({ report }: ProxyEvidence, names: Names): Accepted => {
  const [, payload = ""] = textIn(report).split(".")
  const token = jsonIn(Buffer.from(payload, "base64url"))
  const { submods } = token
  const container = isObject(submods) && isObject(submods["container"]) ? submods["container"] : {}
  const overridden = isObject(container["env_override"]) ? Object.keys(container["env_override"]) : []
  // The names stand in a command that people copy, and nothing is verified yet.
  must(
    overridden.every((name) => /^[A-Za-z_]\w*$/.test(name)),
    "space-token-malformed",
    "It overrides odd names.",
  )
  const missing = overridden.filter((name) => !names.includes(name))
  if (missing.length > 0) {
    throw new EvidenceFailure(
      "space-environment-override",
      `The operator set ${missing.join(", ")}. To accept that, pass ${missing.map((name) => `--accept ${name}`).join(" ")}.`,
    )
  }
  const version = swversionIn(token)
  return {
    format: "confidential-space",
    image_digests: [textOf(container, "image_digest")],
    hardware: ["GCP_INTEL_TDX"],
    audience: textOf(token, "aud"),
    environment: overridden,
    ...(version === undefined ? {} : { minimum_swversion: version }),
  }
}

const entryOf = (evidence: ProxyEvidence, names: Names): Accepted => {
  if (evidence.format === "sev-snp") return snpEntry(evidence, names)
  return evidence.format === "confidential-space" ? spaceEntry(evidence, names) : tdxEntry(evidence, names)
}

const originsIn = (urls: ReadonlyArray<unknown>): ReadonlyArray<string> => [
  ...new Set(urls.flatMap((url) => (typeof url === "string" && URL.canParse(url) ? [new URL(url).origin] : []))),
]

const listIn = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const textsIn = (value: unknown): ReadonlyArray<string> => listIn(value).filter((each) => typeof each === "string")

const providerIn = (provider: unknown): AcceptedProvider => {
  const pins = isObject(provider) ? provider["sealed_pins"] : null
  return {
    vendor: textOf(provider, "vendor"),
    base_url: textOf(provider, "base_url"),
    sealed_pins: pins === null ? null : textsIn(pins),
  }
}

const configurationRules = (bytes: Uint8Array): EvidencePolicy["configuration"] => {
  const configuration = jsonIn(bytes)
  const { extra_ca: ca, node, outgoing_proxies: proxies, providers, telemetry } = configuration
  const outgoing = isObject(proxies) ? [proxies["http"], proxies["https"]] : []
  const endpoints = originsIn(listIn(telemetry))
  const { flags } = isObject(node) ? node : {}
  return {
    software: [{ version: textOf(configuration, "software"), digest: textOf(configuration, "software_digest") }],
    providers: listIn(providers).map(providerIn),
    outgoing_proxies: originsIn(outgoing),
    telemetry: endpoints.length === 0 ? "none" : endpoints,
    extra_ca: typeof ca === "string" ? [ca] : [],
    node: { versions: [textOf(node, "version")], flags: textsIn(flags) },
    key_storage: [textOf(configuration, "key_storage")],
  }
}

/**
 * Returns rules for the code, hardware and configuration in `evidence`, which is not verified yet. Throws an `EvidenceFailure`
 * if it cannot be read.
 *
 * @param expires seconds since the epoch
 */
export const shownRules = (evidence: ProxyEvidence, names: Names, expires: number): EvidencePolicy => ({
  accept: [entryOf(evidence, names)],
  configuration: configurationRules(evidence.configuration),
  deny: { chips: [], kids: [] },
  expires,
})
