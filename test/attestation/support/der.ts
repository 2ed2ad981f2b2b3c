/** Writes DER (X.690) for certificates of tests. */

const lengthOf = (length: number): Buffer => {
  if (length < 0x80) return Buffer.of(length)
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xffff ? 6 : length > 0xff ? 4 : 2, "0"), "hex")
  return Buffer.concat([Buffer.of(0x80 | bytes.length), bytes])
}

export const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content])
}

export const sequence = (...parts: ReadonlyArray<Uint8Array>): Buffer => der(0x30, ...parts)
export const explicit = (number: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => der(0xa0 + number, ...parts)
export const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes)
export const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.of(0), bytes)
export const text = (value: string): Buffer => der(0x0c, Buffer.from(value))
export const ia5 = (value: string): Buffer => der(0x16, Buffer.from(value))
export const TRUE = der(0x01, Buffer.of(0xff))
export const NULL = der(0x05)

/** A non-negative INTEGER. */
export const integer = (value: number): Buffer => {
  const digits = value.toString(16)
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), "0"), "hex")
  return der(0x02, ...((bytes[0] ?? 0) >= 0x80 ? [Buffer.of(0)] : []), bytes)
}

const arc = (value: number): ReadonlyArray<number> => {
  const bytes = [value & 0x7f]
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift(0x80 | (rest & 0x7f))
  return bytes
}

export const oid = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number)
  return der(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(arc)))
}

/** A UTCTime; `seconds` since the epoch, before 2050. */
export const time = (seconds: number): Buffer =>
  der(
    0x17,
    Buffer.from(
      `${new Date(seconds * 1000)
        .toISOString()
        .replaceAll(/[-:T]|\.\d+/g, "")
        .slice(2)}`,
    ),
  )
