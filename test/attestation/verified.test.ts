/** Evidence of all formats under chains of our own, which passes the production verifier through its roots parameter. */
import { assert, describe, it } from "@effect/vitest"
import type { Collateral } from "../../src/attestation/collateral.ts"
import { proveAttestation, verifyAttestation } from "../../src/attestation/verifyAttestation.ts"
import { encodeBase64Url } from "../../src/domain/bytes/bytes.ts"
import { makeCrl } from "./support/authority.ts"
import { codeOfPromise } from "./support/codeOf.ts"
import { snp, TCB } from "./support/snp.ts"
import { CONTAINER, IMAGE, space, SUBMODS } from "./support/space.ts"
import { BOOT, COMPOSE_HASH, dstack, eventOf, secondEventOf } from "./support/dstack.ts"
import { LEVEL, MEASUREMENT, tdx } from "./support/tdx.ts"
import { BINDING, NOW, policyFor } from "./support/world.ts"

const DAY = 86_400

describe("verifyAttestation", () => {
  for (const product of ["Milan", "Genoa", "Turin"] as const) {
    it(`verifies SEV-SNP on ${product}, signed by a VCEK`, () => {
      const check = snp({ product })
      const firmware = { ...TCB, fmc: product === "Turin" ? 3 : 0 }
      assert.deepStrictEqual(verifyAttestation(check), {
        format: "sev-snp",
        kid: encodeBase64Url(check.evidence.kid),
        measurement: "ab".repeat(48),
        hardware: `AMD ${product}`,
        chip: Buffer.from(check.evidence.report.subarray(0x1a0, 0x1e0)).toString("hex"),
        tcb: { reported: firmware, committed: firmware },
        validUntil: NOW + 7 * DAY,
      })
    })
  }
  it("verifies SEV-SNP signed by a VLEK, on a host that hides its chip", () => {
    const report = (bytes: Buffer) => bytes.fill(0, 0x1a0, 0x1e0)
    assert.isUndefined(verifyAttestation(snp({ signer: "vlek", report })).chip)
  })
  it("verifies SEV-SNP reports of version 2, which name no product, and of version 5", () => {
    for (const version of [2, 5]) verifyAttestation(snp({ report: (bytes) => void bytes.writeUInt32LE(version, 0) }))
  })
  it("verifies SEV-SNP by measurement and HOST_DATA", () => {
    verifyAttestation(snp({ accept: { host_data: ["cd".repeat(32)] } }))
  })
  it("verifies SEV-SNP by the second of two entries, if the first wants newer firmware", () => {
    const check = snp()
    const [entry] = check.policy.accept
    if (entry?.format !== "sev-snp") throw new Error("no entry")
    const newer = { ...entry, minimum_tcb: { ...entry.minimum_tcb, snp: 255 } }
    verifyAttestation({ ...check, policy: policyFor(newer, entry) })
  })
  it("ignores serial numbers on another authority's revocation list, because every VCEK has serial 0", () => {
    verifyAttestation(snp({ crl: (root) => makeCrl(root, { revoked: [0] }) }))
  })
  for (const version of [4, 5] as const) {
    it(`verifies TDX quotes of version ${version}`, () => {
      const { chip, hardware, measurement, validUntil } = verifyAttestation(tdx({ version }))
      assert.strictEqual(measurement, MEASUREMENT.mrtd)
      assert.strictEqual(hardware, "Intel TDX")
      assert.strictEqual(chip, "77".repeat(16))
      assert.strictEqual(validUntil, NOW + 7 * DAY)
    })
  }
  it("verifies a TDX platform by the first level that it reaches", () => {
    const out = { ...LEVEL, tcb: { ...LEVEL.tcb, pcesvn: 14 }, tcbStatus: "OutOfDate" }
    verifyAttestation(tdx({ tcbInfo: { tcbLevels: [out, LEVEL] } }))
  })
  it("verifies a TDX platform by the second of two entries, if the first accepts other statuses", () => {
    const check = tdx()
    const [entry] = check.policy.accept
    if (entry?.format !== "tdx") throw new Error("no entry")
    verifyAttestation({ ...check, policy: policyFor({ ...entry, statuses: [] }, entry) })
  })
  it("verifies a status and an advisory that the policy names", () => {
    const tcbLevels = [{ ...LEVEL, tcbStatus: "SWHardeningNeeded", advisoryIDs: ["INTEL-SA-00001"] }]
    const accept = { statuses: ["UpToDate", "SWHardeningNeeded"], advisories: ["INTEL-SA-00001"] }
    verifyAttestation(tdx({ tcbInfo: { tcbLevels }, accept }))
  })
  it("verifies dstack by its compose file", () => {
    assert.strictEqual(verifyAttestation(dstack()).measurement, COMPOSE_HASH)
  })
  it("verifies dstack logs that leave digests out", () => {
    verifyAttestation(dstack({ log: (log) => log.map((event) => ({ ...event, digest: "" })) }))
  })
  it("verifies dstack's second form of events", () => {
    verifyAttestation(dstack({ measured: [BOOT.app, secondEventOf("compose-hash", COMPOSE_HASH), BOOT.keyProvider] }))
  })
  it("verifies dstack with further events", () => {
    verifyAttestation(
      dstack({ measured: [...Object.values(BOOT), eventOf("app", "00"), secondEventOf("app:b", "00")] }),
    )
  })
  it("verifies documents whose validity begins a minute from now, because clocks differ", () => {
    const from = NOW + 60
    const issued = { issueDate: new Date(from * 1000).toISOString() }
    verifyAttestation(tdx({ tcbInfo: issued, qeIdentity: issued, pck: { from } }))
    verifyAttestation(snp({ leaf: { from }, crl: (root) => makeCrl(root, { from }) }))
    verifyAttestation(space({ claims: { iat: from, nbf: from } }))
  })
  it("verifies a token of Confidential Space", () => {
    const { hardware, measurement } = verifyAttestation(space())
    assert.strictEqual(measurement, IMAGE)
    assert.strictEqual(hardware, "GCP_INTEL_TDX")
  })
  it("verifies the image version and TCB status that the policy requires, in both forms of the claim", () => {
    const accept = { minimum_swversion: "250301", tcb_statuses: ["UpToDate"] }
    verifyAttestation(space({ accept }))
    verifyAttestation(space({ claims: { tdx: [{ gcp_attester_tcb_status: "UpToDate" }] }, accept }))
    verifyAttestation(space({ claims: { swversion: ["20260101"] }, accept }))
  })
  it("verifies a token until it expires", () => {
    assert.strictEqual(verifyAttestation(space({ claims: { exp: NOW + 60 } })).validUntil, NOW + 60)
  })
  it("verifies overrides of the environment that the policy names", () => {
    const container = { ...CONTAINER, env_override: { LOG_LEVEL: "debug" } }
    verifyAttestation(space({ claims: { submods: { ...SUBMODS, container } }, accept: { environment: ["LOG_LEVEL"] } }))
  })
  it("verifies a token with its nonce in a list of one, of a project that the policy names", () => {
    const claims = { eat_nonce: [encodeBase64Url(BINDING)] }
    verifyAttestation(space({ claims, accept: { projects: ["sealgate-test"] } }))
  })
})

describe("proveAttestation", () => {
  const source = (collateral: Collateral) => {
    const needs: Array<unknown> = []
    return {
      needs,
      collateralFor: async (need: unknown) => {
        needs.push(need)
        return collateral
      },
    }
  }
  it("fetches the collateral that the evidence needs, and returns it to be kept", async () => {
    const { collateral, ...check } = tdx()
    const from = source(collateral)
    const proven = await proveAttestation(check, from, () => NOW)
    assert.deepStrictEqual(from.needs, [
      { kind: "intel", fmspc: "00806f050000", authority: "platform", update: "standard" },
    ])
    assert.strictEqual(proven.collateral, collateral)
    assert.strictEqual(proven.verified.measurement, MEASUREMENT.mrtd)
  })
  it("checks times when the collateral has arrived, because vendors may sign it on request", async () => {
    const FETCH = 120
    let now = NOW
    const { collateral, ...check } = tdx({ tcbInfo: { issueDate: new Date((NOW + FETCH) * 1000).toISOString() } })
    const slow = {
      collateralFor: async () => {
        now += FETCH
        return collateral
      },
    }
    const proven = await proveAttestation(check, slow, () => now)
    assert.strictEqual(proven.now, NOW + FETCH)
  })
  it("fetches nothing for a policy that has expired", async () => {
    const { collateral, ...check } = snp()
    const from = source(collateral)
    const expired = { ...check, policy: { ...check.policy, expires: NOW } }
    assert.strictEqual(await codeOfPromise(proveAttestation(expired, from, () => NOW)), "policy-expired")
    assert.deepStrictEqual(from.needs, [])
  })
})
