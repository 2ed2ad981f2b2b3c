/**
 * The sender's half of each suite's KEM: Node's own, else a portable one, several times slower. The portable ones have tens
 * of kilobytes, so they are loaded only when needed.
 */
import type { SuiteName } from "../../domain/protocol/suites.ts"
import { nodeCrypto } from "./nodeCrypto.ts"
import type { SenderKem } from "./SenderKem.ts"

const x25519 = async (): Promise<SenderKem> => {
  const { DhkemX25519HkdfSha256 } = await import("@hpke/dhkem-x25519")
  return new DhkemX25519HkdfSha256()
}

const xWing = async (): Promise<SenderKem> => {
  const crypto = nodeCrypto()
  if (crypto !== undefined) return (await import("./nativeXWing.ts")).nativeXWing(crypto)
  const { XWing } = await import("@hpke/hybridkem-x-wing")
  return new XWing()
}

const KEMS: Readonly<Record<SuiteName, () => Promise<SenderKem>>> = { "MLKEM768-X25519": xWing, X25519: x25519 }

export const loadKem = (suite: SuiteName): Promise<SenderKem> => KEMS[suite]()
