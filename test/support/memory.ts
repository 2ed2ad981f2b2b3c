/**
 * Searches all mapped memory of another process for secrets, like a debugger, including pages that the process itself may not
 * read. Linux only; the reader must be the parent process, or root.
 */
import { createPrivateKey, createPublicKey } from "node:crypto"
import { closeSync, openSync, readFileSync, readSync } from "node:fs"
import type { Bytes } from "../../src/domain/bytes/bytes.ts"

const PAGE = 4096
/** Bits of a pagemap entry that say that the page is in memory or in swap. */
const PRESENT = 0xc0
const CHUNK = 8 << 20
/** Longest needle. */
const OVERLAP = 256
const KEY_BYTES = 32

interface Region {
  readonly start: number
  readonly length: number
  /** As in /proc/pid/maps, such as `rw-p`. */
  readonly access: string
}

/** The resident memory of the process, as runs of pages with equal access rights. */
const regionsOf = (pid: number): ReadonlyArray<Region> => {
  const pagemap = openSync(`/proc/${pid}/pagemap`, "r")
  try {
    return readFileSync(`/proc/${pid}/smaps`, "utf8")
      .split(/\n(?=[0-9a-f]+-)/)
      .flatMap((mapping) => {
        const [, from = "", to = "", access = "", name = ""] =
          /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)$/m.exec(mapping) ?? []
        // V8 reserves gigabytes that it does not use; looking through their pages takes seconds.
        if (name.startsWith("[v") || !/^(Rss|Swap): *[1-9]/m.test(mapping)) return []
        const start = Number.parseInt(from, 16)
        const pages = (Number.parseInt(to, 16) - start) / PAGE
        const entries = Buffer.alloc(pages * 8)
        const read = readSync(pagemap, entries, 0, entries.length, (start / PAGE) * 8)
        const regions: Array<Region> = []
        for (let first = 0; first < pages; first++) {
          let next = first
          while (next * 8 < read && ((entries[next * 8 + 7] ?? 0) & PRESENT) !== 0) next++
          if (next > first) regions.push({ start: start + first * PAGE, length: (next - first) * PAGE, access })
          first = next
        }
        return regions
      })
  } finally {
    closeSync(pagemap)
  }
}

const readMemory = (memory: number, into: Buffer, length: number, position: number): number => {
  try {
    return readSync(memory, into, 0, length, position)
  } catch {
    // The page was unmapped meanwhile, or belongs to a device.
    return 0
  }
}

/** Finds the needles, and returns name and access rights of the memory for each hit. */
export const findInMemory = (
  pid: number,
  needles: ReadonlyArray<readonly [name: string, bytes: Uint8Array]>,
): ReadonlyArray<string> => {
  const found = new Set<string>()
  const memory = openSync(`/proc/${pid}/mem`, "r")
  const buffer = Buffer.alloc(CHUNK)
  try {
    for (const { access, length, start } of regionsOf(pid)) {
      for (let offset = 0; offset < length; offset += CHUNK - OVERLAP) {
        const read = readMemory(memory, buffer, Math.min(CHUNK, length - offset), start + offset)
        const part = buffer.subarray(0, read)
        for (const [name, bytes] of needles) {
          for (let at = part.indexOf(bytes); at >= 0; at = part.indexOf(bytes, at + 1)) {
            found.add(`${name} in ${access} at ${(start + offset + at).toString(16)}`)
          }
        }
      }
    }
    return [...found]
  } finally {
    closeSync(memory)
  }
}

/** RFC 8410 §7: everything of an X25519 PKCS #8 document before the 32 raw bytes. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex")

const publicKeyOf = (secret: Uint8Array): Buffer => {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, secret]), format: "der", type: "pkcs8" })
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-KEY_BYTES)
}

/** Finds the private key of `publicKey` by trying the contents of memory without access rights. */
export const findPrivateKey = (pid: number, publicKey: Uint8Array): Bytes | undefined => {
  const memory = openSync(`/proc/${pid}/mem`, "r")
  try {
    for (const { access, length, start } of regionsOf(pid)) {
      if (!access.startsWith("---")) continue
      const buffer = Buffer.alloc(length)
      readMemory(memory, buffer, length, start)
      for (let offset = 0; offset < length; offset += KEY_BYTES) {
        const candidate = buffer.subarray(offset, offset + KEY_BYTES)
        if (candidate.some((byte) => byte !== 0) && publicKeyOf(candidate).equals(publicKey)) {
          return new Uint8Array(candidate)
        }
      }
    }
    return undefined
  } finally {
    closeSync(memory)
  }
}

/** Returns the forms of an X25519 key that may be in memory: raw, clamped, halved, encoded, and as digits of a ladder. */
export const formsOf = (secret: Bytes): ReadonlyArray<readonly [name: string, bytes: Uint8Array]> => {
  // Clamping (RFC 7748 §5) changes only bits of the first and the last byte.
  const inner = Buffer.from(secret.subarray(1, KEY_BYTES - 1))
  const clamped = Buffer.from(secret)
  clamped[0] = (clamped[0] ?? 0) & 0xf8
  clamped[KEY_BYTES - 1] = ((clamped[KEY_BYTES - 1] ?? 0) & 0x7f) | 0x40
  return [
    ["key", inner],
    ["first half", inner.subarray(0, 15)],
    ["second half", inner.subarray(15)],
    ["big-endian key", inner.toReversed()],
    ["hex", Buffer.from(inner.toString("hex"))],
    ["base64", Buffer.from(Buffer.from(secret).toString("base64").slice(2, 40))],
    ["signed digits", Buffer.from(Int8Array.from(signedDigits(clamped)).buffer).subarray(2, 60)],
  ]
}

/** The base-16 digits between -8 and 8 of fixed-base multiplication. */
const signedDigits = (scalar: Uint8Array): ReadonlyArray<number> => {
  let carry = 0
  return [...scalar]
    .flatMap((byte) => [byte & 15, byte >> 4])
    .map((digit) => {
      const sum = digit + carry
      carry = (sum + 8) >> 4
      return sum - carry * 16
    })
}
