import { assert, it } from "vitest"
import { checkConfiguration } from "../../src/attestation/configuration.ts"
import { EvidenceFailure } from "../../src/attestation/failure.ts"
import { shownRules } from "../../src/cli/attest/shownRules.ts"
import { encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import { ACCEPTED_CONFIGURATION, CONFIGURATION } from "../attestation/support/configuration.ts"
import { dstack } from "../attestation/support/dstack.ts"
import { tdx } from "../attestation/support/tdx.ts"
import { CONTAINER, space, SUBMODS } from "../attestation/support/space.ts"

const OVERRIDING = { ...CONTAINER, env_override: { LOG_LEVEL: "debug", PORT: "3001" } }

const json = (value: unknown) => utf8(JSON.stringify(value))

it("shownRules accepts an operator's variables only if a person names them, and says how", () => {
  const { evidence } = space({ claims: { submods: { ...SUBMODS, container: OVERRIDING } } })
  const configuration = json({
    software: "sealgate 1",
    software_digest: "a",
    node: { version: "v26" },
    key_storage: "plain",
  })
  const shown = { ...evidence, configuration }
  assert.throws(() => shownRules(shown, ["LOG_LEVEL"], 0), EvidenceFailure, /set PORT. .*pass --accept PORT\.$/)
  const odd = space({
    claims: { submods: { ...SUBMODS, container: { ...CONTAINER, env_override: { "X;date": "" } } } },
  })
  assert.throws(() => shownRules({ ...shown, report: odd.evidence.report }, [], 0), EvidenceFailure, /odd names/)
  const [entry] = shownRules(shown, ["LOG_LEVEL", "PORT", "Milan"], 0).accept
  assert(entry?.format === "confidential-space")
  assert.deepStrictEqual([entry.environment, entry.minimum_swversion], [["LOG_LEVEL", "PORT"], "250301"])
})

it("shownRules accepts advisories and documents of Intel as advisories, and other names as statuses", () => {
  const advisories = ["INTEL-SA-00615", "INTEL-DOC-10000"]
  for (const { evidence } of [tdx(), dstack()]) {
    const [entry] = shownRules(evidence, ["SWHardeningNeeded", ...advisories], 0).accept
    assert(entry?.format === "tdx" || entry?.format === "dstack")
    assert.deepStrictEqual([entry.statuses, entry.advisories], [["UpToDate", "SWHardeningNeeded"], advisories])
  }
})

it("shownRules copies each provider with its whole base URL and its pins", () => {
  const { evidence } = tdx()
  const [provider] = CONFIGURATION.providers
  const sealed = { vendor: "OpenAI", base_url: "https://relay.example/a/v1", sealed_pins: ["P".repeat(43)] }
  const configuration = json({ ...CONFIGURATION, providers: [provider, { slot: "provider2", ...sealed }] })
  const rules = shownRules({ ...evidence, configuration }, [], 0).configuration
  assert.deepStrictEqual(rules.providers, [...ACCEPTED_CONFIGURATION.providers, sealed])
  checkConfiguration(configuration, rules)
})

it("shownRules refuses evidence whose members are of another type", () => {
  for (const claims of [
    { aud: { toString: 1 }, submods: { container: { image_digest: "sha256:a" } } },
    { aud: "a", submods: { container: { image_digest: { toString: 1 } } } },
    { aud: "a", submods: { container: { image_digest: "sha256:a" } } },
  ]) {
    const report = utf8(`h.${encodeBase64Url(json(claims))}.s`)
    const configuration = json({ software: { toString: 1 } })
    const rest = { kid: new Uint8Array(32), path: { index: 0, size: 1, hashes: [] } }
    const evidence = { ...rest, format: "confidential-space", report, configuration } as const
    assert.throws(() => shownRules(evidence, [], 0), EvidenceFailure, /no text as (aud|image_digest|software)/)
  }
})
