/** Certificates and revocation lists that prove nothing, in a chain of AMD's kind. */
import type { AmdCollateral } from "../../../src/attestation/collateral.ts"
import { makeCertificate, makeCrl, USAGE } from "../support/authority.ts"
import { NULL, sequence, time } from "../support/der.ts"
import { AUTHORITY, ROOT, snp, type SnpWish, STRANGER } from "../support/snp.ts"
import { NOW } from "../support/world.ts"
import { refusalsOf } from "./refusal.ts"

const DAY = 86_400
const UNKNOWN = { id: "1.2.3.4", value: NULL }
const strangerRoot = makeCertificate(STRANGER, STRANGER, { authority: true })
const OTHER_NAME = makeCertificate(AUTHORITY, { ...ROOT, name: "Other" }, { authority: 0 })
const SIGNED_BY_STRANGER = makeCertificate(AUTHORITY, STRANGER, { authority: 0 })

const chain = (change: (chain: AmdCollateral["chain"]) => AmdCollateral["chain"]): SnpWish => ({
  collateral: (collateral) => ({ ...collateral, chain: change(collateral.chain) }),
})
const crl = (bytes: Uint8Array): SnpWish => ({ collateral: (each) => ({ ...each, crl: Uint8Array.from(bytes) }) })
const sizeOf = (length: number) => [length >> 8, length & 0xff]
/** Writes the length of the whole list, which no signature covers, in another way. */
const outerLength = (lengthOf: (length: number) => Buffer): SnpWish => ({
  crl: (root) => {
    const content = makeCrl(root).subarray(4)
    return Uint8Array.from(Buffer.concat([Buffer.of(0x30), lengthOf(content.length), content]))
  },
})
const RSA_SIGNATURE = 256
/** Says in the BIT STRING of the signature, before its bytes, that one bit is unused. */
const unusedBits = (list: Uint8Array<ArrayBuffer>) => {
  list.set([1], list.length - RSA_SIGNATURE - 1)
  return list
}
const longer = (bytes: Uint8Array) => Uint8Array.from([...bytes, 0])

export const CHAIN_REFUSALS = refusalsOf<SnpWish>(snp, [
  ["a root that the evidence brings along", "chain-root", chain(([leaf, asvk]) => [leaf, asvk, strangerRoot])],
  ["a chain that ends below the root", "chain-root", chain(([leaf, asvk]) => [leaf, asvk, asvk])],
  ["a chain in another order", "chain-root", chain(([leaf, asvk, root]) => [root, asvk, leaf])],
  [
    "an authority that a stranger signed",
    "chain-signature",
    chain(([leaf, , root]) => [leaf, SIGNED_BY_STRANGER, root]),
  ],
  [
    "an authority that the root signed in another name",
    "chain-signature",
    chain(([leaf, , root]) => [leaf, OTHER_NAME, root]),
  ],
  ["a leaf that names another issuer", "chain-signature", chain(([leaf, , root]) => [leaf, root, root])],
  ["an issuer that is no authority", "chain-not-authority", { authority: { authority: false } }],
  ["an issuer whose key may not sign certificates", "chain-key-usage", { authority: { usage: USAGE.signature } }],
  ["an authority below a path length of 0", "chain-path-length", { root: { authority: 0 } }],
  [
    "an unknown critical extension",
    "chain-unknown-extension",
    { authority: { extensions: [{ ...UNKNOWN, critical: true }] } },
  ],
  ["an expired leaf", "chain-validity", { leaf: { until: NOW - 1 } }],
  ["a leaf of tomorrow", "chain-validity", { leaf: { from: NOW + DAY } }],
  ["a leaf that begins in more than a minute", "chain-validity", { leaf: { from: NOW + 61 } }],
  ["an expired authority", "chain-validity", { authority: { until: NOW - 1 } }],
  ["an expired root", "chain-validity", { root: { until: NOW - 1 } }],
  ["an empty certificate", "certificate-malformed", chain(([, asvk, root]) => [new Uint8Array(), asvk, root])],
  ["bytes behind a certificate", "certificate-malformed", chain(([leaf, asvk, root]) => [longer(leaf), asvk, root])],
  ["an extension twice", "certificate-malformed", { leaf: { extensions: [UNKNOWN, UNKNOWN] } }],
  ["a revoked authority", "certificate-revoked", { crl: (root) => makeCrl(root, { revoked: [2] }) }],
  ["a revoked root", "certificate-revoked", { crl: (root) => makeCrl(root, { revoked: [1, 99] }) }],
  ["a skipped revocation list", "crl-malformed", crl(new Uint8Array())],
  ["bytes behind a revocation list", "crl-malformed", crl(longer(makeCrl(STRANGER)))],
  ["a revocation list without a signature", "crl-malformed", crl(sequence(sequence(), NULL))],
  ["a revocation list whose signature has unused bits", "crl-malformed", { crl: (root) => unusedBits(makeCrl(root)) }],
  ["a revocation list of version 1", "crl-malformed", { crl: (root) => makeCrl(root, { version: 0 }) }],
  ["a revocation list that names two algorithms", "crl-malformed", { crl: (root) => makeCrl(root, { names: "p384" }) }],
  [
    "an entry without a serial number",
    "crl-malformed",
    { crl: (root) => makeCrl(root, { entries: [sequence(NULL, time(NOW))] }) },
  ],
  [
    "a revocation list that ends early",
    "crl-malformed",
    outerLength((length) => Buffer.of(0x82, ...sizeOf(length + 1))),
  ],
  [
    "a revocation list whose length is not in its shortest form",
    "crl-malformed",
    outerLength((length) => Buffer.of(0x83, 0, ...sizeOf(length))),
  ],
  ["a certificate in place of a revocation list", "crl-malformed", crl(strangerRoot)],
  ["a revocation list of the authority", "crl-issuer", { crl: () => makeCrl(AUTHORITY) }],
  ["a revocation list that a stranger of the same name signed", "crl-signature", { crl: () => makeCrl(STRANGER) }],
  ["an old revocation list", "crl-expired", { crl: (root) => makeCrl(root, { until: NOW - 1 }) }],
  ["a revocation list of tomorrow", "crl-expired", { crl: (root) => makeCrl(root, { from: NOW + DAY }) }],
  [
    "a revocation list that begins in more than a minute",
    "crl-expired",
    { crl: (root) => makeCrl(root, { from: NOW + 61 }) },
  ],
  [
    "a revocation list of restricted scope",
    "crl-critical-extension",
    { crl: (root) => makeCrl(root, { extensions: [{ ...UNKNOWN, critical: true }] }) },
  ],
  [
    "an entry for another issuer",
    "crl-critical-extension",
    { crl: (root) => makeCrl(root, { revoked: [5], entryExtensions: [{ ...UNKNOWN, critical: true }] }) },
  ],
  ["a list of a key that may not sign lists", "crl-key-usage", { root: { usage: USAGE.certificates } }],
])
