import { fileURLToPath } from "node:url"

/** Absolute path of a file in this checkout. */
export const pathOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** Where processes of this checkout share code that Node compiled. */
export const COMPILE_CACHE = pathOf("node_modules/.cache/node-compile")
