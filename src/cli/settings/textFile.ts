/** The text in a file that people write: UTF-8, or UTF-16 as PowerShell and Notepad save it. */

/** UTF-8 where no byte order mark says otherwise; the mark is taken off. `undefined` for what is no text. */
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
