/** The proxy's side of HPKE (RFC 9180): session keys of both suites, and opening what was sealed to them. */
import { createHash, createPrivateKey, createPublicKey } from "node:crypto"
import { Aes256Gcm, CipherSuite, HkdfSha256, type KemInterface } from "@hpke/core"
import { DhkemX25519HkdfSha256 } from "@hpke/dhkem-x25519"
import { XWing } from "@hpke/hybridkem-x-wing"
import type { SuiteName } from "../../domain/protocol/suites.ts"
import { publicKeyOf } from "./Identity.ts"
import { bytes, fromHex, label } from "./reference.ts"

export const SUITE_IDS = {
  "MLKEM768-X25519": { kem: 25722, kdf: 1, aead: 2 },
  X25519: { kem: 32, kdf: 1, aead: 2 },
} as const

export const SUITE_NAMES: ReadonlyArray<SuiteName> = ["MLKEM768-X25519", "X25519"]

export const suiteNamed = ({ aead, kdf, kem }: Readonly<Record<"kem" | "kdf" | "aead", unknown>>) =>
  SUITE_NAMES.find(
    (name) => kem === SUITE_IDS[name].kem && kdf === SUITE_IDS[name].kdf && aead === SUITE_IDS[name].aead,
  )

/** X-Wing's key generation from its seed, which is also its private key. */
const xWingPublicKey = (seed: Uint8Array): Buffer => {
  const expanded = createHash("shake256", { outputLength: 96 }).update(seed).digest()
  const mlKem = createPrivateKey({
    key: bytes(fromHex("3054020100300b060960864801650304040204428040"), expanded.subarray(0, 64)),
    format: "der",
    type: "pkcs8",
  })
  const spki = createPublicKey(mlKem).export({ format: "der", type: "spki" })
  return bytes(spki.subarray(-1184), publicKeyOf("X25519", expanded.subarray(64)))
}

export const sessionPublicKey = (suite: SuiteName, secret: Uint8Array): Buffer =>
  suite === "X25519" ? publicKeyOf("X25519", secret) : xWingPublicKey(secret)

const suiteWith = (kem: KemInterface) => new CipherSuite({ kem, kdf: new HkdfSha256(), aead: new Aes256Gcm() })
const SUITES = { "MLKEM768-X25519": suiteWith(new XWing()), X25519: suiteWith(new DhkemX25519HkdfSha256()) }

interface HpkeContext {
  readonly suite: SuiteName
  readonly info: Uint8Array
  readonly aad: Uint8Array
}

export const hpkeOpen = async (
  privateKey: Uint8Array,
  { aad, info, suite: name }: HpkeContext,
  enc: Uint8Array,
  ciphertext: Uint8Array,
): Promise<{ readonly plaintext: Buffer; readonly secret: Buffer }> => {
  const suite = SUITES[name]
  const recipientKey = await suite.kem.deserializePrivateKey(new Uint8Array(privateKey))
  const context = await suite.createRecipientContext({ recipientKey, enc: new Uint8Array(enc), info })
  return {
    plaintext: Buffer.from(await context.open(new Uint8Array(ciphertext), new Uint8Array(aad))),
    secret: Buffer.from(await context.export(new Uint8Array(label("response")), 32)),
  }
}
