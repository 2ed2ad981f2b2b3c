import { fileURLToPath } from "node:url"

/** Absolute path of a file in this checkout. */
export const pathOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
