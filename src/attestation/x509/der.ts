/** Reads DER (X.690) as far as certificates and revocation lists need: definite lengths, one-byte tags. */
import { type EvidenceFailureCode, must } from "../failure.ts"

export interface DerValue {
  readonly tag: number
  readonly content: Uint8Array
  /** Tag, length and content. */
  readonly raw: Uint8Array
}

export const TAG = {
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  utc: 0x17,
  time: 0x18,
  sequence: 0x30,
} as const

const valueAt = (bytes: Uint8Array, at: number, code: EvidenceFailureCode): DerValue => {
  const tag = bytes[at] ?? 0
  const first = bytes[at + 1] ?? 0
  const octets = first < 0x80 ? 0 : first & 0x7f
  const start = at + 2 + octets
  let length = octets === 0 ? first : 0
  for (let i = at + 2; i < start; i++) length = length * 256 + (bytes[i] ?? 0)
  must((tag & 0x1f) !== 0x1f && first !== 0x80 && octets < 4 && start + length <= bytes.length, code, "It is not DER.")
  // The shortest form of a length is the only one in DER.
  must(octets === 0 || length >= Math.max(0x80, 256 ** (octets - 1)), code, "It is not DER.")
  return { tag, content: bytes.subarray(start, start + length), raw: bytes.subarray(at, start + length) }
}

/** All values within `content`. Throws an `EvidenceFailure` of `code` if it is not DER. */
export const valuesIn = (content: Uint8Array, code: EvidenceFailureCode): ReadonlyArray<DerValue> => {
  const values: Array<DerValue> = []
  for (let at = 0; at < content.length;) {
    const value = valueAt(content, at, code)
    values.push(value)
    at += value.raw.length
  }
  return values
}

/** The members of a SEQUENCE that is all of `bytes`. */
export const sequenceIn = (bytes: Uint8Array, code: EvidenceFailureCode): ReadonlyArray<DerValue> => {
  const [value, more] = valuesIn(bytes, code)
  must(value?.tag === TAG.sequence && more === undefined, code, "It is not one DER sequence.")
  return valuesIn(value.content, code)
}

/** An object identifier in dotted form. */
export const oidOf = (content: Uint8Array): string => {
  const arcs: Array<number> = []
  let arc = 0
  for (const byte of content) {
    arc = arc * 128 + (byte & 0x7f)
    if (byte < 0x80) {
      if (arcs.length === 0) {
        const top = Math.min(2, Math.floor(arc / 40))
        arcs.push(top, arc - 40 * top)
      } else arcs.push(arc)
      arc = 0
    }
  }
  return arcs.join(".")
}

/** A small non-negative INTEGER. */
export const integerOf = (content: Uint8Array): number => content.reduce((sum, byte) => sum * 256 + byte, 0)

/** Seconds since the epoch of a UTCTime or GeneralizedTime (RFC 5280 §4.1.2.5); `NaN` if it is neither. */
export const timeOf = ({ tag, content }: DerValue): number => {
  const text = Buffer.from(content).toString("latin1")
  const century = tag === TAG.utc ? (Number(text.slice(0, 2)) < 50 ? "20" : "19") : ""
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(century + text)
  if (parts === null) return Number.NaN
  const [, year, month, day, hour, minute, second] = parts
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) / 1000
}
