/** Attested configurations that a policy does not allow. */
import { checkConfiguration } from "../../../src/attestation/configuration.ts"
import type { EvidenceFailureCode } from "../../../src/attestation/failure.ts"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import { ACCEPTED_CONFIGURATION, CONFIGURATION } from "../support/configuration.ts"
import type { Refusal } from "./refusal.ts"

const [provider] = CONFIGURATION.providers
const OTHER = "https://example.org"
const PIN = "P".repeat(43)
const proxies = { http: null, https: null, except: null }

const changes: ReadonlyArray<readonly [string, EvidenceFailureCode, object]> = [
  ["another base URL", "configuration-provider", { providers: [{ ...provider, base_url: OTHER }] }],
  [
    "http in place of https",
    "configuration-provider",
    { providers: [{ ...provider, base_url: "http://api.openai.com" }] },
  ],
  ["another port", "configuration-provider", { providers: [{ ...provider, base_url: "https://api.openai.com:8443" }] }],
  [
    "a second provider elsewhere",
    "configuration-provider",
    { providers: [provider, { ...provider, base_url: OTHER }] },
  ],
  [
    "another path on the same origin, such as another account of a gateway",
    "configuration-provider",
    { providers: [{ ...provider, base_url: "https://api.openai.com/v2" }] },
  ],
  ["pins of a provider that has none", "configuration-provider", { providers: [{ ...provider, sealed_pins: [PIN] }] }],
  ["another vendor", "configuration-provider", { providers: [{ ...provider, vendor: "Other" }] }],
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
  ["a pin that is a number", "configuration-malformed", { providers: [{ ...provider, sealed_pins: [1] }] }],
  ["telemetry that is null", "configuration-malformed", { telemetry: null }],
  ["an unknown member of a provider", "configuration-malformed", { providers: [{ ...provider, mirror: OTHER }] }],
]

const check = (text: string) => () => checkConfiguration(utf8(text), ACCEPTED_CONFIGURATION)

const sealed = { vendor: "OpenAI", base_url: "https://api.openai.com/v1", sealed_pins: [PIN, "Q".repeat(43)] }
const ACCEPTED_SEALED = { ...ACCEPTED_CONFIGURATION, providers: [sealed] }
/** A configuration with other pins than the policy's. */
const repinned = (name: string, sealed_pins: unknown): Refusal => [
  `${name} in the configuration`,
  "configuration-provider",
  () =>
    checkConfiguration(
      utf8(JSON.stringify({ ...CONFIGURATION, providers: [{ slot: "provider1", ...sealed, sealed_pins }] })),
      ACCEPTED_SEALED,
    ),
]

export const CONFIGURATION_REFUSALS: ReadonlyArray<Refusal> = [
  ...changes.map(([name, code, change]): Refusal => [
    `${name} in the configuration`,
    code,
    check(JSON.stringify({ ...CONFIGURATION, ...change })),
  ]),
  repinned("no pins of a provider that the policy pins", null),
  repinned("an empty list of pins", []),
  repinned("another pin", [PIN, "R".repeat(43)]),
  repinned("a pin less", [PIN]),
  [
    "a duplicate member of the configuration, which parsers read differently",
    "configuration-malformed",
    check(JSON.stringify(CONFIGURATION).replace("{", '{"redis":true,')),
  ],
  ["a configuration that is a list", "configuration-malformed", check("[]")],
  ["a configuration that is not JSON", "configuration-malformed", check("{")],
]
