/** TDX and dstack evidence from real machines, at a time when its collateral was current. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { decodeCollateral } from "../../src/attestation/collateral.ts"
import type { AcceptedTdx } from "../../src/attestation/policy.ts"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { PINNED_ROOTS } from "../../src/attestation/roots.ts"
import { checkEventLog } from "../../src/attestation/tdx/dstack.ts"
import { readQuote } from "../../src/attestation/tdx/quote.ts"
import { codeOf } from "./support/codeOf.ts"
import { verifyQuote, verifyTdx } from "../../src/attestation/tdx/verify.ts"

const sample = (name: string) => readFileSync(`test/attestation/samples/${name}`)
const QUOTE = sample("tdx-v4.quote")
const COLLATERAL: Readonly<Record<string, string>> = JSON.parse(sample("tdx-v4.collateral.json").toString())
const NOW = Date.parse("2025-06-20T00:00:00Z") / 1000
const BODY = readQuote(QUOTE).body
const bytes = (data: Buffer | string) => Uint8Array.from(Buffer.from(data))

interface Changes {
  readonly quote?: Buffer
  readonly collateral?: Readonly<Record<string, unknown>>
  readonly entry?: Partial<AcceptedTdx>
  readonly now?: number
  readonly chips?: ReadonlyArray<string>
  readonly intel?: string
}

const [rtmr0, rtmr1, rtmr2, rtmr3] = BODY.rtmr
const MEASUREMENT = { mrtd: BODY.mrtd, rtmr0, rtmr1, rtmr2, rtmr3 }

const checkOf = (changes: Changes = {}) => ({
  evidence: {
    format: "tdx" as const,
    kid: new Uint8Array(32),
    configuration: new Uint8Array(),
    report: bytes(changes.quote ?? QUOTE),
    path: { index: 0, size: 1, hashes: [] },
  },
  accepted: [
    { format: "tdx" as const, measurements: [MEASUREMENT], statuses: ["UpToDate"], advisories: [], ...changes.entry },
  ],
  deny: { chips: changes.chips ?? [], kids: [] },
  now: changes.now ?? NOW,
  roots: { ...PINNED_ROOTS, intel: changes.intel ?? PINNED_ROOTS.intel },
})
const collateralOf = ({ collateral }: Changes = {}) => {
  const decoded = decodeCollateral({ kind: "intel", ...COLLATERAL, ...collateral })
  if (decoded.kind !== "intel") throw new Error("another kind")
  return decoded
}
const verified = (changes: Changes = {}) => verifyQuote(checkOf(changes), collateralOf(changes))

const flipped = (data: Buffer, at: number, mask = 1): Buffer => {
  const copy = Buffer.from(data)
  copy[at] = (copy[at] ?? 0) ^ mask
  return copy
}

/** `text` with the digit at `at` changed. */
const otherHex = (text: string, at = text.length - 1): string =>
  text.slice(0, at) + (text[at] === "0" ? "1" : "0") + text.slice(at + 1)

const QE_REPORT = 48 + 584 + 4 + 128 + 6
const QUOTE_SIGNATURE = 48 + 584 + 4
const member = (name: string) => COLLATERAL[name] ?? ""

describe("TDX", () => {
  it("verifies a v4 quote with its collateral until the earliest end", () => {
    const { hardware, measurement, validUntil } = verified()
    assert.strictEqual(hardware, "Intel TDX")
    assert.strictEqual(measurement, BODY.mrtd)
    assert.isAtMost(validUntil, Date.parse("2025-07-19T10:16:03Z") / 1000)
    assert.isAbove(validUntil, NOW)
  })

  it("reads a v5 quote", () => assert.strictEqual(readQuote(sample("tdx-v5.quote")).body.serviceTd?.length, 48))

  const cases: ReadonlyArray<readonly [string, string, Changes]> = [
    ["a debug guest", "debug-enabled", { quote: sample("tdx-v4-debug.quote") }],
    ["an empty quote", "report-length", { quote: Buffer.alloc(0) }],
    ["version 3", "report-version", { quote: flipped(QUOTE, 0, 7) }],
    ["another key type", "tdx-key-type", { quote: flipped(QUOTE, 2) }],
    ["SGX as the TEE", "tdx-tee-type", { quote: flipped(QUOTE, 4, 0x81) }],
    ["another vendor of the QE (CVE-2026-22696)", "tdx-qe-vendor", { quote: flipped(QUOTE, 12) }],
    ["a quote that ends early", "report-length", { quote: QUOTE.subarray(0, 4000) }],
    ["bytes after the signature", "report-padding", { quote: flipped(QUOTE, QUOTE.length - 1) }],
    ["a measurement without its signature", "signature-wrong", { quote: flipped(QUOTE, 48 + 136) }],
    ["a wrong quote signature", "signature-wrong", { quote: flipped(QUOTE, QUOTE_SIGNATURE) }],
    ["another attestation key", "tdx-qe-binding", { quote: flipped(QUOTE, QUOTE_SIGNATURE + 64) }],
    ["a changed QE report", "tdx-qe-signature", { quote: flipped(QUOTE, QE_REPORT + 128) }],
    ["no QE report", "tdx-certification-data", { quote: flipped(QUOTE, QE_REPORT - 6) }],
    ["SEPT_VE_DISABLE = 0", "tdx-attributes", { quote: flipped(QUOTE, 48 + 123, 0x10) }],
    ["MIGRATABLE = 1", "tdx-attributes", { quote: flipped(QUOTE, 48 + 123, 0x20) }],
    ["another root", "chain-root", { intel: "00".repeat(32) }],
    ["collateral that is not there yet", "collateral-expired", { now: NOW - 86_400 }],
    ["no measurements of the policy", "measurement-unknown", { entry: { measurements: [] } }],
    ["another RTMR3", "measurement-unknown", { entry: { measurements: [{ ...MEASUREMENT, rtmr3: "00" }] } }],
    ["another MRTD", "measurement-unknown", { entry: { measurements: [{ ...MEASUREMENT, mrtd: "00" }] } }],
    ["a status that the policy does not name", "tdx-tcb-status", { entry: { statuses: ["OutOfDate"] } }],
    ["changed TCB info", "collateral-signature", { collateral: { tcb_info: `${member("tcb_info")} ` } }],
    ["a changed QE identity", "collateral-signature", { collateral: { qe_identity: `${member("qe_identity")} ` } }],
    [
      "a QE identity in place of TCB info",
      "collateral-kind",
      { collateral: { tcb_info: member("qe_identity"), tcb_info_signature: member("qe_identity_signature") } },
    ],
    ["a changed root list", "crl-signature", { collateral: { root_ca_crl: otherHex(member("root_ca_crl")) } }],
    ["a changed PCK list", "crl-signature", { collateral: { pck_crl: otherHex(member("pck_crl")) } }],
    ["the root list in place of the PCK list", "crl-issuer", { collateral: { pck_crl: member("root_ca_crl") } }],
    ["missing lists", "collateral-malformed", { collateral: { pck_crl: undefined } }],
    ["a chain that is not PEM", "certificate-malformed", { collateral: { tcb_info_issuer_chain: "x" } }],
    [
      "another signer's collateral",
      "collateral-signer",
      { collateral: { tcb_info_issuer_chain: member("pck_crl_issuer_chain") } },
    ],
  ]
  for (const [name, code, changes] of cases) {
    it(`refuses ${name}`, () =>
      assert.strictEqual(
        codeOf(() => verified(changes)),
        code,
      ))
  }

  it("refuses a genuine quote that carries another binding", () => {
    const check = { ...checkOf(), binding: new Uint8Array(32) }
    assert.strictEqual(
      codeOf(() => verifyTdx(check, collateralOf())),
      "binding-differs",
    )
  })

  it("refuses expired collateral", () => {
    assert.include(
      ["collateral-expired", "crl-expired"],
      codeOf(() => verified({ now: NOW + 60 * 86_400 })),
    )
  })
})

describe("dstack", () => {
  const dstack: { readonly quote: string; readonly event_log: string } = JSON.parse(
    sample("dstack-quote-report.json").toString(),
  )
  const rtmr = readQuote(Buffer.from(dstack.quote, "hex")).body.rtmr[3]
  const check = (log: string) =>
    codeOf(() => checkEventLog(utf8(JSON.stringify({ event_log: log, app_compose: "" })), rtmr))
  const events: ReadonlyArray<Readonly<Record<string, unknown>>> = JSON.parse(dstack.event_log)
  const changed = (change: (event: Readonly<Record<string, unknown>>) => unknown) =>
    JSON.stringify(events.map((event) => (event["event"] === "compose-hash" ? change(event) : event)))

  it("replays a real log up to its compose file, which is not sampled", () => {
    assert.strictEqual(check(dstack.event_log), "dstack-compose-hash")
  })
  it("refuses a payload invented for a genuine digest", () => {
    assert.strictEqual(check(changed((event) => ({ ...event, event_payload: "00" }))), "dstack-event-digest")
  })
  it("refuses an invented payload without a digest", () => {
    assert.strictEqual(check(changed((event) => ({ ...event, event_payload: "00", digest: "" }))), "dstack-rtmr3")
  })
  it("refuses a log without one event", () => {
    assert.strictEqual(check(JSON.stringify(events.filter(({ event }) => event !== "compose-hash"))), "dstack-rtmr3")
  })
  it("refuses an event of another type", () => {
    assert.strictEqual(check(changed((event) => ({ ...event, event_type: 1 }))), "dstack-event-log")
  })
  it("refuses a log that is not JSON", () => assert.strictEqual(check("["), "dstack-event-log"))
})
