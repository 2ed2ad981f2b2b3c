/** Removes the control characters of untrusted text, which could move a terminal's cursor or imitate this program. */

/** Keeps line breaks. */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- this removes control characters
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")

/** Replaces line breaks by spaces. */
export const printableLine = (text: string): string => printable(text).replace(/[\n\t]+/g, " ")

/** Encodes JSON, and escapes the control characters that `JSON.stringify` does not. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
