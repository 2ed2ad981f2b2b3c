/** Waits for printed output, which `process.exit` would drop, and handles failed writes, which would crash the process. */

/** Error code of a write after the reader closed the pipe, as `head` does. */
const READER_LEFT = "EPIPE"

export const watchOutput = () => {
  let lost: Error | undefined
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== READER_LEFT) lost ??= error
  })
  // Errors of standard error cannot be reported anywhere.
  process.stderr.on("error", () => undefined)
  return {
    /** Calls `done` once all output was written or has failed. `lost` is the failure, unless the reader closed the pipe. */
    settled: (done: (lost: Error | undefined) => void): void => {
      let left = 2
      // Writes complete in order, and callbacks also run after a failure.
      const taken = () => {
        left -= 1
        // A stream emits its error after the callback.
        if (left === 0) setImmediate(() => done(lost))
      }
      process.stdout.write("", taken)
      process.stderr.write("", taken)
    },
  }
}
