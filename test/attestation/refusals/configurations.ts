/** Attested configurations that a policy does not allow. */
import { checkConfiguration } from "../../../src/attestation/configuration.ts"
import type { EvidenceFailureCode } from "../../../src/attestation/failure.ts"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import { ACCEPTED_CONFIGURATION, CONFIGURATION } from "../support/configuration.ts"
import type { Refusal } from "./refusal.ts"

const [provider] = CONFIGURATION.providers
const OTHER = "https://example.org"
const proxies = { http: null, https: null, except: null }

const changes: ReadonlyArray<readonly [string, EvidenceFailureCode, object]> = [
  ["another base URL", "configuration-origin", { providers: [{ ...provider, base_url: OTHER }] }],
  [
    "http in place of https",
    "configuration-origin",
    { providers: [{ ...provider, base_url: "http://api.openai.com" }] },
  ],
  ["another port", "configuration-origin", { providers: [{ ...provider, base_url: "https://api.openai.com:8443" }] }],
  ["a second provider elsewhere", "configuration-origin", { providers: [provider, { ...provider, base_url: OTHER }] }],
  ["another vendor", "configuration-vendor", { providers: [{ ...provider, vendor: "Other" }] }],
  ["an outgoing proxy", "configuration-proxy", { outgoing_proxies: { ...proxies, https: OTHER } }],
  ["an outgoing proxy for HTTP", "configuration-proxy", { outgoing_proxies: { ...proxies, http: OTHER } }],
  ["telemetry", "configuration-telemetry", { telemetry: [OTHER] }],
  ["another version", "configuration-software", { software: "sealgate/0.0.1" }],
  ["a changed byte of the software", "configuration-software", { software_digest: "B".repeat(43) }],
  ["extra authorities", "configuration-extra-ca", { extra_ca: "B".repeat(43) }],
  ["another Node", "configuration-node", { node: { ...CONFIGURATION.node, version: "v1.0.0" } }],
  ["an option of Node", "configuration-node", { node: { ...CONFIGURATION.node, flags: ["--require=x"] } }],
  ["other key storage", "configuration-key-storage", { key_storage: "redis" }],
  ["an unknown member", "configuration-malformed", { mirror: OTHER }],
  ["a missing member", "configuration-malformed", { telemetry: undefined }],
  ["a malformed URL", "configuration-malformed", { telemetry: ["x"] }],
  ["telemetry as text", "configuration-malformed", { telemetry: OTHER }],
  ["a vendor that is a number", "configuration-malformed", { providers: [{ ...provider, vendor: 1 }] }],
  ["a provider that is null", "configuration-malformed", { providers: [null] }],
  ["a provider without its pins", "configuration-malformed", { providers: [{ ...provider, sealed_pins: undefined }] }],
  ["telemetry that is null", "configuration-malformed", { telemetry: null }],
  ["an unknown member of a provider", "configuration-malformed", { providers: [{ ...provider, mirror: OTHER }] }],
]

const check = (text: string) => () => checkConfiguration(utf8(text), ACCEPTED_CONFIGURATION)

export const CONFIGURATION_REFUSALS: ReadonlyArray<Refusal> = [
  ...changes.map(([name, code, change]): Refusal => [
    `${name} in the configuration`,
    code,
    check(JSON.stringify({ ...CONFIGURATION, ...change })),
  ]),
  [
    "a duplicate member of the configuration, which parsers read differently",
    "configuration-malformed",
    check(JSON.stringify(CONFIGURATION).replace("{", '{"redis":true,')),
  ],
  ["a configuration that is a list", "configuration-malformed", check("[]")],
  ["a configuration that is not JSON", "configuration-malformed", check("{")],
]
