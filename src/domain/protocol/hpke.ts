/** The part of HPKE's key schedule (RFC 9180 §5.1, mode base) that both ends share. Each end does its own hashing. */
import { type Bytes, concat, utf8 } from "../bytes/bytes.ts"
import type { SuiteId } from "./suites.ts"

export const MODE_BASE = Uint8Array.of(0)

/** Prefix of labelled inputs (§4). */
export const HPKE_VERSION = utf8("HPKE-v1")

export const HPKE_LABELS = {
  pskIdHash: utf8("psk_id_hash"),
  infoHash: utf8("info_hash"),
  secret: utf8("secret"),
  key: utf8("key"),
  baseNonce: utf8("base_nonce"),
  exporter: utf8("exp"),
  export: utf8("sec"),
}

/** `I2OSP(value, 2)`. */
export const u16 = (value: number): Bytes => Uint8Array.of(value >> 8, value)

export const hpkeSuiteId = ({ aead, kdf, kem }: SuiteId): Bytes => concat(utf8("HPKE"), u16(kem), u16(kdf), u16(aead))
