import { SealgateError } from "./errors.ts"

/** Passes the errors that the clients throw by design. Throws any other, which is a bug. */
export const clientError = (error: unknown): SealgateError => {
  if (error instanceof SealgateError) return error
  throw error
}
