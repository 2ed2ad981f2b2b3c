/** Cuts texts by their length in JSON. */

const SHORT_ESCAPES: ReadonlySet<string> = new Set(['"', "\\", "\b", "\f", "\n", "\r", "\t"])

/** UTF-8 bytes of one character in a JSON string. */
const bytesOf = (character: string): number => {
  const code = character.codePointAt(0) ?? 0
  if (SHORT_ESCAPES.has(character)) return 2
  if (code < 0x20) return 6
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  // An unpaired surrogate is written as an escape.
  if (code >= 0xd800 && code <= 0xdfff) return 6
  return code < 0x10000 ? 3 : 4
}

/**
 * Cuts `text` between characters into pieces of at most `most` bytes in a JSON string; a single character may be longer.
 * Returns at least one piece, even of an empty text.
 */
export const cutText = (text: string, most: number): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let begun = 0
  let at = 0
  let bytes = 0
  for (const character of text) {
    const more = bytesOf(character)
    if (bytes + more > most && at > begun) {
      pieces.push(text.slice(begun, at))
      begun = at
      bytes = 0
    }
    bytes += more
    at += character.length
  }
  return [...pieces, text.slice(begun)]
}
