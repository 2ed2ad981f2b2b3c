/**
 * Whether what is printed arrives. A pipe takes what its reader leaves room for, and `process.exit` drops the rest; a
 * write that fails is an event of the stream, and without a listener the end of the process.
 */

/** What a write says after its reader has left, as `head` does once it has had enough. */
const READER_LEFT = "EPIPE"

/** Watches standard output and standard error from now on. */
export const watchOutput = () => {
  let lost: Error | undefined
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== READER_LEFT) lost ??= error
  })
  // There is no place left to tell of these.
  process.stderr.on("error", () => undefined)
  return {
    /** Calls back once everything printed so far was taken or has failed; `lost` is why, unless its reader had left. */
    settled: (done: (lost: Error | undefined) => void): void => {
      let left = 2
      // In order, and called back for after a failure too.
      const taken = () => {
        left -= 1
        // A stream tells of its failure after it has called back.
        if (left === 0) setImmediate(() => done(lost))
      }
      process.stdout.write("", taken)
      process.stderr.write("", taken)
    },
  }
}
