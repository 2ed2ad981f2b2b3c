/** SEV-SNP evidence with one mistake each, correctly signed where the mistake allows. */
import { collateralNeedOf } from "../../../src/attestation/collateralNeed.ts"
import { makeKeys } from "../support/authority.ts"
import { snp, type SnpWish, TCB, TCB_AT, tcbBytes } from "../support/snp.ts"
import { type Refusal, refusalsOf } from "./refusal.ts"

const P256 = makeKeys("p256")
const OTHER = makeKeys("p384")
const { collateral: ofOther } = snp({ leafKeys: OTHER })
const LEAF_OF_OTHER = ofOther.kind === "amd" ? ofOther.chain[0] : new Uint8Array()
const CHIP = "5a".repeat(64)
const short = (check: ReturnType<typeof snp>, length: number) => ({
  ...check,
  evidence: { ...check.evidence, report: check.evidence.report.slice(0, length) },
})
const deny = (chips: ReadonlyArray<string>): SnpWish => ({
  check: (check) => ({ ...check, policy: { ...check.policy, deny: { chips, kids: [] } } }),
})
const masked = (report: Buffer) => void report.fill(0, 0x1a0, 0x1e0)
/** One of the four TCBs, with one part lower. */
const lower = (at: number): SnpWish => ({ report: (report) => report.set(tcbBytes("Genoa", { ...TCB, snp: 19 }), at) })
const reported = (change: Partial<typeof TCB>): SnpWish => ({
  report: (report) => report.set(tcbBytes("Genoa", { ...TCB, ...change }), TCB_AT.reported),
  accept: { minimum_tcb: { bootloader: 0, tee: 0, snp: 0, microcode: 0 } },
})
const processor = (family: number, model: number): SnpWish => ({
  report: (report) => report.set([family, model], 0x188),
})

const tableOf = (name: string, table: Buffer): Refusal => [
  name,
  "snp-certificate-table",
  () => collateralNeedOf({ ...snp().evidence, collateral: Uint8Array.from(table) }),
]
const beyond = Buffer.alloc(48, 0)
beyond.writeUInt32LE(40, 16)
beyond.writeUInt32LE(9, 20)

export const SNP_REFUSALS: ReadonlyArray<Refusal> = [
  ...refusalsOf<SnpWish>(snp, [
    ["a report that ends early", "report-length", { check: (check) => short(check, 1183) }],
    ["an empty report", "report-length", { check: (check) => short(check, 0) }],
    ["a report of version 1", "report-version", { report: (report) => void report.writeUInt32LE(1, 0) }],
    ["a report of version 6", "report-version", { report: (report) => void report.writeUInt32LE(6, 0) }],
    ["another algorithm", "report-algorithm", { report: (report) => void report.writeUInt32LE(2, 0x34) }],
    ["padding that no signature covers", "report-padding", { afterwards: (report) => void report.fill(1, 0x4a0 - 1) }],
    ["a debug guest with a good signature", "debug-enabled", { report: (report) => void (report[10] = 0x0b) }],
    ["a migration agent", "snp-migration-agent", { report: (report) => void (report[10] = 0x07) }],
    ["VMPL 1", "snp-vmpl", { report: (report) => void report.writeUInt32LE(1, 0x30) }],
    [
      "unchecked memory aliases (BadRAM)",
      "snp-alias-check",
      { report: (report) => void report.writeUInt32LE(0, 0x40) },
    ],
    ["a measurement without a signature", "signature-wrong", { afterwards: (report) => void report.fill(0, 0x2a0) }],
    ["a measurement changed after signing", "signature-wrong", { afterwards: (report) => void (report[0x90] = 0) }],
    ["a signature over P-384's size", "signature-malformed", { afterwards: (report) => void (report[0x2a0 + 60] = 1) }],
    ["a leaf of P-256", "signature-wrong", { leafKeys: P256 }],
    [
      "another machine's leaf",
      "signature-wrong",
      {
        collateral: ({ chain: [, authority, root], ...rest }) => ({ ...rest, chain: [LEAF_OF_OTHER, authority, root] }),
      },
    ],
    ["a report that no key signed", "snp-signing-key", { report: (report) => void report.writeUInt32LE(7 << 2, 0x48) }],
    ["a VCEK for a VLEK", "snp-leaf-type", { signer: "vlek", leafType: "vcek" }],
    ["a VLEK for a VCEK", "snp-leaf-type", { leafType: "vlek" }],
    ["a Milan report under Genoa's root", "snp-product", processor(0x19, 1)],
    ["an unknown processor", "snp-product", processor(0x1a, 0x50)],
    ["a Milan leaf under Genoa's root", "snp-product", { leafProduct: "Milan" }],
    [
      "Milan without its name in the policy",
      "snp-product-not-accepted",
      { product: "Milan", accept: { products: ["Genoa"] } },
    ],
    [
      "Turin's TCB layout on Genoa",
      "snp-tcb-layout",
      { report: (report) => report.set(tcbBytes("Turin"), TCB_AT.reported) },
    ],
    [
      "Genoa's TCB layout on Turin",
      "snp-tcb-layout",
      { product: "Turin", report: (report) => report.set(tcbBytes("Genoa"), TCB_AT.reported) },
    ],
    ["a leaf for another bootloader", "snp-leaf-tcb", reported({ bootloader: 8 })],
    ["a leaf for another TEE version", "snp-leaf-tcb", reported({ tee: 2 })],
    ["a leaf for another SNP version", "snp-leaf-tcb", reported({ snp: 21 })],
    ["a leaf for another microcode", "snp-leaf-tcb", reported({ microcode: 210 })],
    [
      "a leaf for another FMC on Turin",
      "snp-leaf-tcb",
      { product: "Turin", report: (report) => void (report[TCB_AT.reported] = 4) },
    ],
    ["another chip's leaf", "snp-chip-id", { report: (report) => void (report[0x1a0] = 1) }],
    ["a hidden chip with a VCEK", "snp-chip-id", { report: masked }],
    [
      "a longer chip id than Turin's",
      "snp-chip-id",
      { product: "Turin", report: (report) => void (report[0x1a8] = 1) },
    ],
    ["a denied chip", "chip-denied", deny([CHIP])],
    [
      "a chip hidden from a policy that denies some",
      "chip-masked",
      { signer: "vlek", report: masked, ...deny([CHIP]) },
    ],
    ["another measurement", "measurement-unknown", { accept: { measurements: ["00".repeat(48)] } }],
    ["no measurements", "measurement-unknown", { accept: { measurements: [] } }],
    ["a known measurement with other HOST_DATA", "measurement-unknown", { accept: { host_data: ["00".repeat(32)] } }],
    ["firmware below the minimum", "tcb-below-minimum", { accept: { minimum_tcb: { ...TCB, snp: 21 } } }],
    [
      "an FMC below the minimum on Turin",
      "tcb-below-minimum",
      { product: "Turin", accept: { minimum_tcb: { ...TCB, fmc: 4 } } },
    ],
    ["firmware that can be rolled back", "snp-committed-tcb", lower(TCB_AT.committed)],
    ["firmware that was older at launch", "snp-committed-tcb", lower(TCB_AT.launch)],
    ["older running firmware than reported", "snp-committed-tcb", lower(TCB_AT.current)],
  ]),
  tableOf("a certificate table without an end", Buffer.alloc(25, 1)),
  tableOf(
    "a certificate table that ends within an entry",
    Buffer.concat([Buffer.of(1), Buffer.alloc(23), Buffer.of(1)]),
  ),
  tableOf("a certificate table that names bytes beyond its end", beyond),
]
