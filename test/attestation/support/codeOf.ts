import { EvidenceFailure } from "../../../src/attestation/failure.ts"

/** The code of the refusal, or `verified`. */
export const codeOf = (run: () => unknown): string => {
  try {
    run()
    return "verified"
  } catch (error) {
    if (error instanceof EvidenceFailure) return error.code
    throw error
  }
}

/** The code with which a promise is rejected, or `verified`. */
export const codeOfPromise = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "verified",
    (error: unknown) => {
      if (error instanceof EvidenceFailure) return error.code
      throw error
    },
  )
