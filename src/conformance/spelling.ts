const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** Spells the same bytes with an unused bit that is not zero; there must be unused bits. */
export const withUnusedBit = (base64url: string): string =>
  base64url.slice(0, -1) + ALPHABET.charAt(ALPHABET.indexOf(base64url.slice(-1)) + 1)
