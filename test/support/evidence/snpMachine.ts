/** A machine of AMD's layout whose chain leads to the tests' own root, behind configfs-tsm. */
import assert from "node:assert"
import { createHash, randomBytes, sign } from "node:crypto"
import { PINNED_ROOTS } from "../../../src/attestation/roots.ts"
import type { CollateralSource } from "../../../src/attestation/collateral.ts"
import { certificate, der, revocationList, small } from "./der.ts"

const OID = "1.3.6.1.4.1.3704.1"
const TCB = { bootloader: 4, tee: 0, snp: 22, microcode: 213 }
const tcbBytes = Buffer.from([TCB.bootloader, TCB.tee, 0, 0, 0, 0, TCB.snp, TCB.microcode])

/** Family and model of a Genoa. */
const GENOA = [0x19, 0x11]
const DAY = 86_400
const SCALAR = 72
const SIGNATURE = 0x2a0

/** R or S of a P-384 signature, as 72 little-endian bytes. */
const scalar = (bytes: Uint8Array): Buffer => Buffer.concat([bytes.toReversed(), Buffer.alloc(SCALAR - 48)])

export const snpMachine = (measurement: string, validFor = 30 * DAY) => {
  const now = Math.floor(Date.now() / 1000)
  const [from, until] = [now - DAY, now + validFor]
  const ark = certificate({ name: "ARK-Test", isAuthority: true, from, until })
  const ask = certificate({ name: "SEV-Test", issuer: ark, isAuthority: true, from, until })
  const chip = randomBytes(64)
  const leaf = certificate({
    name: "SEV-VCEK",
    issuer: ask,
    from,
    until,
    extensions: [
      [`${OID}.2`, der(0x16, Buffer.from("Genoa-B0"))],
      [`${OID}.3.1`, small(TCB.bootloader)],
      [`${OID}.3.2`, small(TCB.tee)],
      [`${OID}.3.3`, small(TCB.snp)],
      [`${OID}.3.8`, Buffer.of(2, 2, 0, TCB.microcode)],
      [`${OID}.4`, chip],
    ],
  })
  const [first, second, third] = [leaf, ask, ark].map((each) => Uint8Array.from(each.der))
  assert(first !== undefined && second !== undefined && third !== undefined)
  const crl = Uint8Array.from(revocationList(ark, from, until))
  const collateral: CollateralSource = {
    collateralFor: () => Promise.resolve({ kind: "amd", chain: [first, second, third], crl }),
  }
  const report = (data: Buffer): Buffer => {
    const bytes = Buffer.alloc(1184)
    bytes.writeUInt32LE(3, 0)
    bytes.set(GENOA, 0x188)
    bytes.writeUInt32LE(1, 0x34)
    bytes.writeUInt32LE(1 << 5, 0x40)
    data.copy(bytes, 0x50)
    bytes.write(measurement, 0x90, "hex")
    chip.copy(bytes, 0x1a0)
    for (const at of [0x38, 0x180, 0x1e0, 0x1f0]) tcbBytes.copy(bytes, at)
    const signature = sign("sha384", bytes.subarray(0, SIGNATURE), { key: leaf.key, dsaEncoding: "ieee-p1363" })
    scalar(signature.subarray(0, 48)).copy(bytes, SIGNATURE)
    scalar(signature.subarray(48)).copy(bytes, SIGNATURE + SCALAR)
    return bytes
  }
  return {
    provider: "sev_guest",
    report,
    /** In place of AMD's service. */
    source: collateral,
    roots: { ...PINNED_ROOTS, amd: { ...PINNED_ROOTS.amd, Genoa: createHash("sha256").update(ark.der).digest("hex") } },
    /** The policy's entry that accepts it. */
    accepts: {
      format: "sev-snp" as const,
      measurements: [measurement],
      products: ["Genoa" as const],
      minimum_tcb: TCB,
    },
    chip: chip.toString("hex"),
  }
}
export type SnpMachine = ReturnType<typeof snpMachine>
