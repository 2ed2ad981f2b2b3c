/** Each byte of real evidence and collateral, changed alone, is refused, or named here as uncovered. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { X509Certificate } from "node:crypto"
import { decodeCollateral } from "../../src/attestation/collateral.ts"
import { PINNED_ROOTS } from "../../src/attestation/roots.ts"
import { verifySevSnp } from "../../src/attestation/sevSnp/verify.ts"
import { readToken } from "../../src/attestation/space/token.ts"
import { checkEventLog } from "../../src/attestation/tdx/dstack.ts"
import { readQuote } from "../../src/attestation/tdx/quote.ts"
import { verifyQuote } from "../../src/attestation/tdx/verify.ts"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { codeOf } from "../attestation/support/codeOf.ts"

type Bytes = Uint8Array<ArrayBuffer>

const sample = (name: string): Bytes => Uint8Array.from(readFileSync(`test/attestation/samples/${name}`))
const textOf = (name: string): string => readFileSync(`test/attestation/samples/${name}`, "utf8")
const common = { kid: new Uint8Array(32), configuration: new Uint8Array(), path: { index: 0, size: 1, hashes: [] } }

/** Positions whose change leaves the code that unchanged bytes have. */
const uncovered = (bytes: Bytes, codeFor: (bytes: Bytes) => string): ReadonlyArray<number> => {
  const expected = codeFor(bytes)
  return [...bytes.keys()].filter((at) => {
    const changed = Uint8Array.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    return codeFor(changed) === expected
  })
}

const dersIn = (name: string): ReadonlyArray<Bytes> =>
  (textOf(name).match(/-----BEGIN CERT[^-]+-----[^-]+-----END CERT[^-]+-----/g) ?? []).map((pem) =>
    Uint8Array.from(new X509Certificate(pem).raw),
  )

const NONE = new Uint8Array()
const AMD_CRL = Uint8Array.from(
  Buffer.from(textOf("snp-genoa.crl.pem").replaceAll(/-----[^-]+-----|\s/g, ""), "base64"),
)

/** Revocation is checked last, and both lists are older than the leaves: every other code is a refusal of the change. */
const snpCode = (
  name: "genoa" | "milan",
  changes: { report?: Bytes; leaf?: Bytes; authority?: Bytes; crl?: Bytes },
) => {
  const report = sample(`snp-${name}.report`)
  const [leaf = NONE] = dersIn(`snp-${name}.vcek.pem`)
  const [authority = NONE, root = NONE] = dersIn(`snp-${name}.ask-ark.pem`)
  return codeOf(() =>
    verifySevSnp(
      {
        evidence: { ...common, format: "sev-snp", report: changes.report ?? report },
        binding: report.slice(0x50, 0x70),
        accepted: [
          {
            format: "sev-snp",
            measurements: [Buffer.from(report).toString("hex", 0x90, 0xc0)],
            products: ["Milan", "Genoa"],
            minimum_tcb: { bootloader: 0, tee: 0, snp: 0, microcode: 0 },
          },
        ],
        deny: { chips: [], kids: [] },
        now: Date.parse("2026-03-01T00:00:00Z") / 1000,
        roots: PINNED_ROOTS,
      },
      {
        kind: "amd",
        chain: [changes.leaf ?? leaf, changes.authority ?? authority, root],
        crl: changes.crl ?? (name === "genoa" ? AMD_CRL : NONE),
      },
    ),
  )
}

const PCS: Readonly<Record<string, string>> = JSON.parse(textOf("tdx-v4.collateral.json"))
const QUOTE = sample("tdx-v4.quote")
const { mrtd, rtmr } = readQuote(QUOTE).body
const [rtmr0, rtmr1, rtmr2, rtmr3] = rtmr

const tdxCode = (report: Bytes, members: Readonly<Record<string, string>> = {}) =>
  codeOf(() => {
    const collateral = decodeCollateral({ kind: "intel", ...PCS, ...members })
    if (collateral.kind !== "intel") throw new Error("another kind")
    const accepted = [
      {
        format: "tdx" as const,
        measurements: [{ mrtd, rtmr0, rtmr1, rtmr2, rtmr3 }],
        statuses: ["UpToDate"],
        advisories: [],
      },
    ]
    const now = Date.parse("2025-06-20T00:00:00Z") / 1000
    const evidence = { ...common, format: "tdx" as const, report }
    verifyQuote({ evidence, accepted, deny: { chips: [], kids: [] }, now, roots: PINNED_ROOTS }, collateral)
  })

describe("each byte of", () => {
  for (const name of ["genoa", "milan"] as const) {
    it(`a SEV-SNP report of ${name} is covered`, () => {
      assert.deepStrictEqual(
        uncovered(sample(`snp-${name}.report`), (report) => snpCode(name, { report })),
        [],
      )
    })
    it(`the VCEK and the ASK of ${name} is covered`, () => {
      const [leaf = NONE] = dersIn(`snp-${name}.vcek.pem`)
      const [authority = NONE] = dersIn(`snp-${name}.ask-ark.pem`)
      assert.deepStrictEqual(
        uncovered(leaf, (bytes) => snpCode(name, { leaf: bytes })),
        [],
      )
      assert.deepStrictEqual(
        uncovered(authority, (bytes) => snpCode(name, { authority: bytes })),
        [],
      )
    })
  }
  it("AMD's revocation list is covered", () => {
    assert.deepStrictEqual(
      uncovered(AMD_CRL, (crl) => snpCode("genoa", { crl })),
      [],
    )
  })
  it("a TDX quote is covered", () => {
    assert.deepStrictEqual(
      uncovered(QUOTE, (report) => tdxCode(report)),
      [],
    )
  })
  for (const member of Object.keys(PCS).filter((name) => name !== "pck_crl_issuer_chain")) {
    it(`Intel's ${member} is covered`, () => {
      const text = utf8(PCS[member] ?? "")
      const codeFor = (bytes: Bytes) => tdxCode(QUOTE, { [member]: Buffer.from(bytes).toString("latin1") })
      assert.deepStrictEqual(uncovered(text, codeFor), [])
    })
  }
  it("a token of Confidential Space is covered", () => {
    const token = utf8(textOf("space-debug.jwt").trim())
    const at = Date.parse("2025-06-23T15:00:00Z") / 1000
    const codeFor = (bytes: Bytes) => codeOf(() => readToken(bytes, PINNED_ROOTS.confidentialSpace, at))
    assert.deepStrictEqual(uncovered(token, codeFor), [])
  })
  it("dstack's log is covered in its events of RTMR3; the policy holds the other registers themselves", () => {
    const { event_log: log, quote }: Readonly<Record<string, string>> = JSON.parse(textOf("dstack-quote-report.json"))
    const register = readQuote(Uint8Array.from(Buffer.from(quote ?? "", "hex"))).body.rtmr[3]
    const events: ReadonlyArray<{ readonly imr: number }> = JSON.parse(log ?? "")
    const compact = JSON.stringify(events)
    const codeFor = (bytes: Bytes) =>
      codeOf(() => {
        const members = { event_log: Buffer.from(bytes).toString("latin1"), app_compose: "" }
        checkEventLog(utf8(JSON.stringify(members)), register)
      })
    const free = uncovered(utf8(compact), codeFor)
    const spans = events
      .filter(({ imr }) => imr === 3)
      .map((event) => {
        const text = JSON.stringify(event)
        const start = compact.indexOf(text)
        return [start, start + text.length] as const
      })
    const inside = free.filter((at) => spans.some(([start, end]) => at >= start && at < end))
    assert.deepStrictEqual(inside, [])
  })
})
