/** The sender's KEM of each suite: the platform's own where it has one, else a portable one, several times slower. */
import { DhkemX25519HkdfSha256 as NativeX25519, type KemInterface } from "@hpke/core"
import { DhkemX25519HkdfSha256 as PortableX25519 } from "@hpke/dhkem-x25519"
import type { SuiteName } from "../domain/suites.ts"
import { nodeCrypto } from "./nodeCrypto.ts"

const { subtle } = globalThis.crypto

const x25519 = async (): Promise<KemInterface> => {
  const native = await subtle.generateKey("X25519", false, ["deriveBits"]).then(
    () => true,
    () => false,
  )
  return native ? new NativeX25519() : new PortableX25519()
}

/** These take some tens of kilobytes, so they are loaded only where needed. */
const xWing = async (): Promise<KemInterface> => {
  const crypto = nodeCrypto()
  if (crypto !== undefined) return (await import("./nativeXWing.ts")).nativeXWing(crypto)
  const { XWing } = await import("@hpke/hybridkem-x-wing")
  return new XWing()
}

const KEMS: Readonly<Record<SuiteName, () => Promise<KemInterface>>> = { "MLKEM768-X25519": xWing, X25519: x25519 }

export const kemOf = (suite: SuiteName): Promise<KemInterface> => KEMS[suite]()
