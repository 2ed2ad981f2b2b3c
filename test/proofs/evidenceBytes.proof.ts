/** Each byte of real evidence and collateral, changed alone, is refused, or named here as uncovered. */
import { assert, describe, it } from "@effect/vitest"
import { PINNED_ROOTS } from "../../src/attestation/roots.ts"
import { readToken } from "../../src/attestation/space/token.ts"
import { checkEventLog } from "../../src/attestation/tdx/dstack.ts"
import { readQuote } from "../../src/attestation/tdx/quote.ts"
import { verifyQuote } from "../../src/attestation/tdx/verify.ts"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { codeOf } from "../attestation/support/codeOf.ts"
import {
  AMD_CRL,
  type Bytes,
  certificatesIn,
  PCS,
  QUOTE,
  sample,
  snpCode,
  tdxCheck,
  tdxCollateral,
  textOf,
} from "../attestation/support/samples.ts"

/** Positions whose change leaves the code that unchanged bytes have. */
const uncovered = (bytes: Bytes, codeFor: (bytes: Bytes) => string): ReadonlyArray<number> => {
  const expected = codeFor(bytes)
  return [...bytes.keys()].filter((at) => {
    const changed = Uint8Array.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    return codeFor(changed) === expected
  })
}

const tdxCode = (report: Bytes, members: Readonly<Record<string, string>> = {}) =>
  codeOf(() => verifyQuote(tdxCheck(report), tdxCollateral(members)))

describe("each byte of", () => {
  for (const name of ["genoa", "milan"] as const) {
    it(`a SEV-SNP report of ${name} is covered`, () => {
      assert.deepStrictEqual(
        uncovered(sample(`snp-${name}.report`), (report) => snpCode(name, { report })),
        [],
      )
    })
    it(`the VCEK and the ASK of ${name} is covered`, () => {
      const [leaf] = certificatesIn(`snp-${name}.vcek.pem`)
      const [authority, root] = certificatesIn(`snp-${name}.ask-ark.pem`)
      assert(leaf !== undefined && authority !== undefined && root !== undefined)
      assert.deepStrictEqual(
        uncovered(leaf, (bytes) => snpCode(name, { leaf: bytes })),
        [],
      )
      assert.deepStrictEqual(
        uncovered(authority, (bytes) => snpCode(name, { authorities: [bytes, root] })),
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
