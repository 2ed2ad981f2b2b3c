/** The attested configuration, judged by a policy. */
import { assert, describe, it } from "@effect/vitest"
import { checkConfiguration } from "../../src/attestation/configuration.ts"
import type { AcceptedConfiguration } from "../../src/attestation/policy.ts"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { codeOf } from "./support/codeOf.ts"
import { ACCEPTED_CONFIGURATION, CONFIGURATION } from "./support/configuration.ts"

const check = (configuration: unknown, allowed: AcceptedConfiguration = ACCEPTED_CONFIGURATION) =>
  codeOf(() => checkConfiguration(utf8(JSON.stringify(configuration)), allowed))

const OTHER = "https://example.org"

describe("checkConfiguration", () => {
  it("accepts what the policy names", () => assert.strictEqual(check(CONFIGURATION), "verified"))
  it("accepts each provider that the policy names, even if another one is absent", () => {
    const [provider] = CONFIGURATION.providers
    const pins = ["P".repeat(43), "Q".repeat(43)]
    const [known] = ACCEPTED_CONFIGURATION.providers
    assert(known !== undefined)
    const providers = [known, { ...known, base_url: `${OTHER}/v1`, sealed_pins: pins }]
    const allowed = { ...ACCEPTED_CONFIGURATION, providers }
    const relayed = { ...provider, slot: "provider2", base_url: `${OTHER}/v1`, sealed_pins: pins }
    for (const shown of [[provider, relayed], [relayed], []]) {
      assert.strictEqual(check({ ...CONFIGURATION, providers: shown }, allowed), "verified")
    }
  })
  it("accepts other spellings of a base URL, and pins in another order", () => {
    const [P, Q] = ["P".repeat(43), "Q".repeat(43)] as const
    const [provider] = CONFIGURATION.providers
    const [known] = ACCEPTED_CONFIGURATION.providers
    assert(provider !== undefined && known !== undefined)
    const judged = (shown: object, accepted: object) =>
      check(
        { ...CONFIGURATION, providers: [{ ...provider, ...shown }] },
        { ...ACCEPTED_CONFIGURATION, providers: [{ ...known, ...accepted }] },
      )
    for (const [one, other] of [
      ["https://api.anthropic.com/", "https://api.anthropic.com"],
      ["https://api.anthropic.com/", "HTTPS://API.Anthropic.com:443"],
      ["https://api.openai.com/v1", "https://api.openai.com/v1/"],
      ["https://api.openai.com/v1//", "https://api.openai.com/x/../v1"],
    ]) {
      assert.strictEqual(judged({ base_url: one }, { base_url: other }), "verified", other)
      assert.strictEqual(judged({ base_url: other }, { base_url: one }), "verified", other)
    }
    for (const base_url of ["https://api.openai.com/V1", "https://api.openai.com/v1?account=b", "openai"]) {
      assert.strictEqual(judged({}, { base_url }), "configuration-provider", base_url)
    }
    assert.strictEqual(judged({ sealed_pins: [P, Q] }, { sealed_pins: [Q, P, Q] }), "verified")
    assert.strictEqual(judged({ sealed_pins: [P, P] }, { sealed_pins: [P, Q] }), "configuration-provider")
    assert.strictEqual(judged({ sealed_pins: [] }, { sealed_pins: null }), "configuration-provider")
  })
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
      outgoing_proxies: [OTHER],
      extra_ca: ["B".repeat(43)],
    }
    assert.strictEqual(check(configuration, allowed), "verified")
  })
})
