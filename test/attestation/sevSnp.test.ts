/** SEV-SNP evidence from real machines. Their VCEKs are younger than the sampled revocation list, so that check comes last. */
import { assert, describe, it } from "@effect/vitest"
import { AMD_CRL, certificatesIn, snpCode } from "./support/samples.ts"

const [MILANS] = certificatesIn("snp-milan.vcek.pem")
const CHANGED_CRL = AMD_CRL.map((byte, at) => (at === AMD_CRL.length - 1 ? byte ^ 1 : byte))

describe("SEV-SNP", () => {
  it("accepts a Genoa report except for its expired revocation list", () => {
    assert.strictEqual(snpCode("genoa"), "crl-expired")
  })

  it("accepts a Milan report except for its missing revocation list", () => {
    assert.strictEqual(snpCode("milan"), "crl-malformed")
  })

  // Mistakes in generated evidence are in `refusals/`.
  for (const [name, code, machine, changes] of [
    ["a debug guest", "debug-enabled", "debug", {}],
    ["another product's chain", "chain-signature", "genoa", { authorities: certificatesIn("snp-milan.ask-ark.pem") }],
    [
      "an authority of VLEKs for a VCEK",
      "chain-signature",
      "genoa",
      { authorities: certificatesIn("snp-genoa.asvk-ark.pem") },
    ],
    [
      "another chip's leaf",
      "signature-wrong",
      "genoa",
      { leaf: MILANS ?? new Uint8Array(), authorities: certificatesIn("snp-milan.ask-ark.pem") },
    ],
    ["a changed revocation list", "crl-signature", "genoa", { crl: CHANGED_CRL }],
    ["another authority's revocation list", "crl-issuer", "milan", { crl: AMD_CRL }],
  ] as const) {
    it(`refuses ${name}`, () => assert.strictEqual(snpCode(machine, changes), code))
  }
})
