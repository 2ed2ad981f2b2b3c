/**
 * Text of others, such as servers, files and models, as it may be shown on a terminal: without the control characters
 * with which it could move the cursor, set the title or the clipboard, or pass for a line of ours.
 */

/** Text of any number of lines. */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- those are what this is about
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")

/** Text within a line, which stays one. */
export const printableLine = (text: string): string => printable(text).replace(/[\n\t]+/g, " ")

/** A value as JSON. It escapes the control characters that `JSON.stringify` leaves as they are. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
