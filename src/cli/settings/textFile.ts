/**
 * Decodes UTF-8, or UTF-16 with a byte order mark as PowerShell and Notepad save it, and drops the mark. Returns `undefined`
 * if the bytes are not text.
 */
export const decodeTextFile = (bytes: Uint8Array): string | undefined => {
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8"
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
    return text.includes("\0") ? undefined : text
  } catch {
    return undefined
  }
}
