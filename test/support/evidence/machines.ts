/** Stand-ins of confidential machines that hand out evidence under the tests' own roots. */
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type { CollateralSource } from "../../../src/attestation/collateral.ts"
import type { Accepted } from "../../../src/attestation/policy.ts"
import type { EvidenceRoots } from "../../../src/attestation/roots.ts"
import type { AttestationCheck } from "../../../src/attestation/verifyAttestation.ts"
import { makeCrl } from "../../attestation/support/authority.ts"
import { snp, TCB } from "../../attestation/support/snp.ts"
import { CONTAINER, space, SUBMODS } from "../../attestation/support/space.ts"
import { dstack } from "../../attestation/support/dstack.ts"
import { tdx } from "../../attestation/support/tdx.ts"
import { configfs, dstackAnswers, socketServer } from "./standIns.ts"

export interface Machine {
  readonly attest: "dstack" | "tsm" | "confidential-space"
  /** Starts what hands out evidence, with sockets in `folder`. */
  readonly start: (folder: string) => Effect.Effect<ReturnType<typeof configfs>, never, Scope.Scope>
  readonly roots: EvidenceRoots
  /** Stands in for the vendors' services. */
  readonly source: CollateralSource
  /** The policy's entry that accepts it. */
  readonly accepts: Accepted
}

/** Roots, collateral and accepting entry of evidence that passes. */
const trustOf = ({ collateral, policy, roots }: AttestationCheck) => {
  const [accepts] = policy.accept
  if (accepts === undefined) throw new Error("the policy accepts nothing")
  const source: CollateralSource = { collateralFor: () => Promise.resolve(collateral) }
  return { accepts, roots, source }
}

const NO_FILES = configfs("none", 0)
const REPORT_DATA = { snp: 0x50, tdx: 520 }
const DAY = 86_400

export const MEASUREMENT = "ab".repeat(48)
/** Of all Genoas here. */
export const CHIP = "5a".repeat(64)

/** The policy's entry that accepts a Genoa with this measurement. */
export const snpEntry = (measurement: string): Accepted => ({
  format: "sev-snp",
  measurements: [measurement],
  products: ["Genoa"],
  minimum_tcb: TCB,
})

/** A Genoa, whose certificates are valid now. */
export const snpMachine = (measurement = MEASUREMENT): Machine => {
  const now = Math.floor(Date.now() / 1000)
  const valid = { from: now - DAY, until: now + 30 * DAY }
  const answer = (data?: Buffer) =>
    snp({
      report: (report) => {
        report.write(measurement, 0x90, "hex")
        if (data !== undefined) report.set(data, REPORT_DATA.snp)
      },
      leaf: valid,
      authority: valid,
      root: valid,
      crl: (root) => makeCrl(root, valid),
    })
  const report = (data: Buffer) => Buffer.from(answer(data).evidence.report)
  return {
    attest: "tsm",
    start: () => Effect.succeed(configfs("sev_guest", { report })),
    ...trustOf(answer()),
    accepts: snpEntry(measurement),
  }
}

/** The next three are valid at the `NOW` of the tests of verifiers. */
export const tdxMachine = (version: 4 | 5): Machine => {
  const report = (data: Buffer) =>
    Buffer.from(tdx({ version, body: (body) => body.set(data, REPORT_DATA.tdx) }).evidence.report)
  return { attest: "tsm", start: () => Effect.succeed(configfs("tdx_guest", { report })), ...trustOf(tdx({ version })) }
}

export const dstackMachine = (): Machine => ({
  attest: "dstack",
  start: (folder) => {
    const { collateral } = dstack().evidence
    const handed: { event_log: string; app_compose: string } = JSON.parse(Buffer.from(collateral ?? []).toString())
    const answers = {
      ...dstackAnswers,
      "/GetQuote": ({ report_data = "" }) => {
        const data = Buffer.from(report_data, "hex")
        const { report } = dstack({ body: (body) => body.set(data, REPORT_DATA.tdx) }).evidence
        return { quote: Buffer.from(report).toString("hex"), event_log: handed.event_log }
      },
      "/Info": () => ({ tcb_info: JSON.stringify({ app_compose: handed.app_compose }) }),
    }
    return Effect.as(socketServer(join(folder, "dstack.sock"), answers), NO_FILES)
  },
  ...trustOf(dstack()),
})

/** `env`: variables that its operator sets, which {@link Machine.accepts} accepts. */
export const spaceMachine = (env: Readonly<Record<string, string>> = {}): Machine => {
  const submods = { ...SUBMODS, container: { ...CONTAINER, env_override: env } }
  const answer = (nonce?: string) =>
    space({
      claims: { submods, ...(nonce === undefined ? {} : { eat_nonce: nonce }) },
      accept: { environment: Object.keys(env) },
    })
  return {
    attest: "confidential-space",
    start: (folder) => {
      const token = ({ nonces = [] }: { readonly nonces?: ReadonlyArray<string> }) =>
        Buffer.from(answer(nonces[0]).evidence.report).toString()
      return Effect.as(socketServer(join(folder, "tee.sock"), { "/v1/token": token }), NO_FILES)
    },
    ...trustOf(answer()),
  }
}
