/** SEV-SNP evidence from real machines. Their VCEKs are younger than the sampled revocation list, so that check comes last. */
import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { EvidenceFailure } from "../../src/attestation/failure.ts"
import { type AmdProduct, PINNED_ROOTS } from "../../src/attestation/roots.ts"
import { verifySevSnp } from "../../src/attestation/sevSnp/verify.ts"

const sample = (name: string) => readFileSync(`test/attestation/samples/${name}`)
const pems = (name: string) =>
  (
    sample(name)
      .toString()
      .match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []
  ).map((pem) => new X509Certificate(pem).raw)
const CRL = Buffer.from(
  sample("snp-genoa.crl.pem")
    .toString()
    .replaceAll(/-----[^-]+-----|\s/g, ""),
  "base64",
)
const LEAVES = {
  genoa: () => pems("snp-genoa.vcek.pem"),
  milan: () => pems("snp-milan.vcek.pem"),
  debug: () => [sample("snp-debug.vcek.der")],
}
const NONE = new Uint8Array()
const NOW = Date.parse("2026-03-01T00:00:00Z") / 1000

interface Changes {
  readonly report?: Buffer
  readonly chain?: ReadonlyArray<Buffer>
  readonly crl?: Buffer
  readonly products?: ReadonlyArray<AmdProduct>
  readonly measurements?: ReadonlyArray<string>
  readonly minimum?: number
  readonly chips?: ReadonlyArray<string>
  readonly binding?: Buffer
  readonly now?: number
}

const codeOf = (name: "genoa" | "milan" | "debug", changes: Changes = {}): string => {
  const report = changes.report ?? sample(`snp-${name}.report`)
  const authorities = pems(`snp-${name === "debug" ? "milan" : name}.ask-ark.pem`)
  const chain = changes.chain ?? [...LEAVES[name](), ...authorities]
  const [leaf = NONE, intermediate = NONE, root = NONE] = chain.map((der) => Uint8Array.from(der))
  const crl = Uint8Array.from(changes.crl ?? [])
  try {
    verifySevSnp(
      {
        evidence: {
          format: "sev-snp",
          kid: new Uint8Array(32),
          configuration: new Uint8Array(),
          report: Uint8Array.from(report),
          path: { index: 0, size: 1, hashes: [] },
        },
        binding: changes.binding ?? sample(`snp-${name}.report`).subarray(0x50, 0x70),
        accepted: [
          {
            format: "sev-snp",
            measurements: changes.measurements ?? [sample(`snp-${name}.report`).toString("hex", 0x90, 0xc0)],
            products: changes.products ?? ["Milan", "Genoa"],
            minimum_tcb: { bootloader: 0, tee: 0, snp: changes.minimum ?? 0, microcode: 0 },
          },
        ],
        deny: { chips: changes.chips ?? [], kids: [] },
        now: changes.now ?? NOW,
        roots: PINNED_ROOTS,
      },
      { kind: "amd", chain: [leaf, intermediate, root], crl },
    )
    return "verified"
  } catch (error) {
    if (error instanceof EvidenceFailure) return error.code
    throw error
  }
}

const flipped = (bytes: Buffer, at: number, mask = 1): Buffer => {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ mask
  return copy
}

describe("SEV-SNP", () => {
  it("accepts everything of a Genoa report but its expired revocation list", () => {
    assert.strictEqual(codeOf("genoa", { crl: CRL }), "crl-expired")
  })

  it("accepts everything of a Milan report but its missing revocation list", () => {
    assert.strictEqual(codeOf("milan"), "crl-malformed")
  })

  const genoa = sample("snp-genoa.report")
  const authorities = pems("snp-genoa.ask-ark.pem")
  const cases: ReadonlyArray<readonly [string, string, "genoa" | "milan" | "debug", Changes]> = [
    ["a debug guest", "debug-enabled", "debug", {}],
    ["a short report", "report-length", "genoa", { report: genoa.subarray(1) }],
    ["version 1", "report-version", "genoa", { report: flipped(genoa, 0, 2) }],
    ["another algorithm", "report-algorithm", "genoa", { report: flipped(genoa, 0x34) }],
    ["padding that no signature covers", "report-padding", "genoa", { report: flipped(genoa, 0x4a0 - 1) }],
    ["a migration agent", "snp-migration-agent", "genoa", { report: flipped(genoa, 10, 4) }],
    ["VMPL 1", "snp-vmpl", "genoa", { report: flipped(genoa, 0x30) }],
    ["unchecked memory aliases (BadRAM)", "snp-alias-check", "genoa", { report: flipped(genoa, 0x40, 0x20) }],
    ["a measurement without its signature", "signature-wrong", "genoa", { report: flipped(genoa, 0x90) }],
    ["a signature over P-384's size", "signature-malformed", "genoa", { report: flipped(genoa, 0x2a0 + 60) }],
    ["Milan without its name in the policy", "snp-product-not-accepted", "milan", { products: ["Genoa"] }],
    ["another measurement", "measurement-unknown", "genoa", { measurements: ["00"] }],
    ["another binding", "binding-differs", "genoa", { binding: Buffer.alloc(32, 1) }],
    ["firmware below the minimum", "tcb-below-minimum", "genoa", { minimum: 255 }],
    ["a denied chip", "chip-denied", "genoa", { chips: [genoa.toString("hex", 0x1a0, 0x1e0)] }],
    ["a time before the leaf", "chain-validity", "genoa", { now: NOW - 400 * 86_400 }],
    [
      "another product's chain",
      "chain-signature",
      "genoa",
      { chain: [...LEAVES.genoa(), ...pems("snp-milan.ask-ark.pem")] },
    ],
    [
      "an authority of VLEKs for a VCEK",
      "chain-signature",
      "genoa",
      { chain: [...LEAVES.genoa(), ...pems("snp-genoa.asvk-ark.pem")] },
    ],
    [
      "another chip's leaf",
      "signature-wrong",
      "genoa",
      { chain: [...LEAVES.milan(), ...pems("snp-milan.ask-ark.pem")] },
    ],
    [
      "a root from the evidence",
      "chain-root",
      "genoa",
      { chain: [...LEAVES.genoa(), ...authorities.slice(0, 1), ...authorities.slice(0, 1)] },
    ],
    ["a chain of two", "certificate-malformed", "genoa", { chain: authorities }],
    ["a changed revocation list", "crl-signature", "genoa", { crl: flipped(CRL, CRL.length - 1) }],
    ["a malformed revocation list", "crl-malformed", "genoa", { crl: CRL.subarray(1) }],
    ["another authority's revocation list", "crl-issuer", "milan", { crl: CRL }],
  ]
  for (const [name, code, machine, changes] of cases) {
    it(`refuses ${name}`, () => assert.strictEqual(codeOf(machine, changes), code))
  }
})
