import { createHash, timingSafeEqual } from "node:crypto"

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether two texts are the same, in a time that tells nothing of where they differ, nor of how long the secret is. */
export const sameSecret = (given: string, secret: string): boolean => timingSafeEqual(digest(given), digest(secret))
