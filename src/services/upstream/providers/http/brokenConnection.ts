import type { ConnectionFailed } from "../../HttpExchange.ts"

/** Appends the error's code to `what`. */
export const withCode = (what: string, { code }: ConnectionFailed): string =>
  code === undefined ? what : `${what} (${code})`
