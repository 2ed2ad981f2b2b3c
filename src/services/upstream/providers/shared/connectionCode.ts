import { Predicate } from "effect"
import type { HttpClientError } from "effect/http"

/** The code by which the system or the client knows why a connection failed, such as `ECONNREFUSED`. */
export const connectionCode = ({ cause }: HttpClientError.HttpClientError): string | undefined =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && CODE.test(cause.code)
    ? cause.code
    : undefined

/**
 * `what` happened to a connection, with the code that says why. Callers get to read it, so it is no place for the
 * client's own message, which names the address that the operator gave the provider.
 */
export const withConnectionCode = (what: string, error: HttpClientError.HttpClientError): string => {
  const code = connectionCode(error)
  return code === undefined ? what : `${what} (${code})`
}

const CODE = /^[A-Z][A-Z0-9_]*$/
