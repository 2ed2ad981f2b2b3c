import type { ConnectionFailed } from "../../HttpExchange.ts"

/** `what` happened to a connection, with the code that says why. */
export const withCode = (what: string, { code }: ConnectionFailed): string =>
  code === undefined ? what : `${what} (${code})`
