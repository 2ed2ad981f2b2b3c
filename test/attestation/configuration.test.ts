/** The attested configuration, judged by a policy. */
import { assert, describe, it } from "@effect/vitest"
import { checkConfiguration } from "../../src/attestation/configuration.ts"
import type { AcceptedConfiguration } from "../../src/attestation/policy.ts"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { codeOf } from "./support/codeOf.ts"
import { ACCEPTED_CONFIGURATION, CONFIGURATION } from "./support/configuration.ts"

const check = (configuration: unknown, allowed: AcceptedConfiguration = ACCEPTED_CONFIGURATION) =>
  codeOf(() => checkConfiguration(utf8(JSON.stringify(configuration)), allowed))

const [provider] = CONFIGURATION.providers
const OTHER = "https://example.org"

describe("checkConfiguration", () => {
  it("accepts what the policy names", () => assert.strictEqual(check(CONFIGURATION), "verified"))
  it("accepts a named telemetry endpoint, proxy and authority", () => {
    const configuration = {
      ...CONFIGURATION,
      telemetry: [`${OTHER}/v1/traces`],
      outgoing_proxies: { http: null, https: `${OTHER}/`, except: null },
      extra_ca: "B".repeat(43),
    }
    const allowed = {
      ...ACCEPTED_CONFIGURATION,
      telemetry: [OTHER],
      origins: [...ACCEPTED_CONFIGURATION.origins, OTHER],
      extra_ca: ["B".repeat(43)],
    }
    assert.strictEqual(check(configuration, allowed), "verified")
  })

  const wrong: ReadonlyArray<readonly [string, string, object]> = [
    ["another base URL", "configuration-origin", { providers: [{ ...provider, base_url: OTHER }] }],
    [
      "http in place of https",
      "configuration-origin",
      { providers: [{ ...provider, base_url: "http://api.openai.com" }] },
    ],
    ["another vendor", "configuration-vendor", { providers: [{ ...provider, vendor: "Other" }] }],
    [
      "a second provider elsewhere",
      "configuration-origin",
      { providers: [provider, { ...provider, base_url: OTHER }] },
    ],
    ["an outgoing proxy", "configuration-proxy", { outgoing_proxies: { http: null, https: OTHER, except: null } }],
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
    ["an unknown member of a provider", "configuration-malformed", { providers: [{ ...provider, mirror: OTHER }] }],
  ]
  for (const [name, code, change] of wrong) {
    it(`refuses ${name}`, () => assert.strictEqual(check({ ...CONFIGURATION, ...change }), code))
  }

  it("refuses a duplicate member, which parsers read differently", () => {
    const text = JSON.stringify(CONFIGURATION).replace("{", '{"redis":true,')
    const code = codeOf(() => checkConfiguration(utf8(text), ACCEPTED_CONFIGURATION))
    assert.strictEqual(code, "configuration-malformed")
  })
  it("refuses a list", () => assert.strictEqual(check([]), "configuration-malformed"))
})
