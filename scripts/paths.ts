import { fileURLToPath } from "node:url"

/** Where a file of this checkout is. */
export const pathOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
