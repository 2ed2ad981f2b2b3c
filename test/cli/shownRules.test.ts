import { assert, it } from "vitest"
import { EvidenceFailure } from "../../src/attestation/failure.ts"
import { shownRules } from "../../src/cli/attest/shownRules.ts"
import { encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"

const json = (value: unknown) => utf8(JSON.stringify(value))

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
