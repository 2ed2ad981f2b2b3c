/** Certificates that a SEV-SNP host hands to its guest (AMD 56421, GHCB, table of certificate data structure). */
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { must } from "../failure.ts"

const ENTRY = 24
/** 16 bytes in the order of their text. */
const GUIDS = {
  vcek: "63da758de6644564adc5f4b93be8accd",
  vlek: "a8074bc2a25a483eaae639c045a0b8a1",
} as const

const MALFORMED = "snp-certificate-table"

/** Entries: GUID, offset from the table's start, length. A zero entry ends them, and nothing has to follow it. */
const certificateIn = (table: Buffer, guid: string): Bytes | undefined => {
  for (let at = 0; at < table.length; at += ENTRY) {
    must(at + ENTRY <= table.length, MALFORMED, "The certificate table has no end.")
    const entry = table.subarray(at, at + ENTRY)
    if (entry.every((byte) => byte === 0)) return undefined
    const [start, length] = [entry.readUInt32LE(16), entry.readUInt32LE(20)]
    must(start + length <= table.length, MALFORMED, "The certificate table names bytes beyond its end.")
    if (entry.toString("hex", 0, 16) === guid) return Uint8Array.from(table.subarray(start, start + length))
  }
  return undefined
}

/** DER of VCEK and VLEK in the table, if they are there. Throws `snp-certificate-table`. */
export const leavesIn = (bytes: Uint8Array | undefined): Readonly<Record<"vcek" | "vlek", Bytes | undefined>> => {
  const table = Buffer.from(bytes ?? [])
  return { vcek: certificateIn(table, GUIDS.vcek), vlek: certificateIn(table, GUIDS.vlek) }
}
