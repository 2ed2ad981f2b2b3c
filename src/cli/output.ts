/**
 * Makes sure that printed output arrives. A pipe accepts only as much as its reader leaves room for, and `process.exit`
 * drops the rest; a failed write is an event of the stream, which ends the process if nobody listens.
 */

/** The error code of a write after the reader has left, as `head` does once it has enough. */
const READER_LEFT = "EPIPE"

/** Watches standard output and standard error from now on. */
export const watchOutput = () => {
  let lost: Error | undefined
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== READER_LEFT) lost ??= error
  })
  // There is no place left to report these.
  process.stderr.on("error", () => undefined)
  return {
    /** Calls back once everything printed so far was taken or has failed; `lost` is why, unless its reader had left. */
    settled: (done: (lost: Error | undefined) => void): void => {
      let left = 2
      // Writes are completed in order, and the callback runs after a failure too.
      const taken = () => {
        left -= 1
        // A stream reports its failure after the callback.
        if (left === 0) setImmediate(() => done(lost))
      }
      process.stdout.write("", taken)
      process.stderr.write("", taken)
    },
  }
}
