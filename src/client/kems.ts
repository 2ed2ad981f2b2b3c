/**
 * The sender's KEM of each suite: the platform's own where it has one, else a portable one, several times slower. Those take
 * some tens of kilobytes, so they are loaded only where needed.
 */
import type { KemInterface } from "@hpke/core"
import type { SuiteName } from "../domain/suites.ts"
import { nodeCrypto } from "./nodeCrypto.ts"

const { subtle } = globalThis.crypto

const x25519 = async (): Promise<KemInterface> => {
  const native = await subtle.generateKey("X25519", false, ["deriveBits"]).then(
    () => true,
    () => false,
  )
  const { DhkemX25519HkdfSha256 } = await (native ? import("@hpke/core") : import("@hpke/dhkem-x25519"))
  return new DhkemX25519HkdfSha256()
}

const xWing = async (): Promise<KemInterface> => {
  const crypto = nodeCrypto()
  if (crypto !== undefined) return (await import("./nativeXWing.ts")).nativeXWing(crypto)
  const { XWing } = await import("@hpke/hybridkem-x-wing")
  return new XWing()
}

const KEMS: Readonly<Record<SuiteName, () => Promise<KemInterface>>> = { "MLKEM768-X25519": xWing, X25519: x25519 }

export const loadKem = (suite: SuiteName): Promise<KemInterface> => KEMS[suite]()
