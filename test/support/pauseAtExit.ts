/**
 * Preloaded into a process whose memory a test wants to see after everything that happens at exit has happened: stops it
 * at the very end, after the last exit hook, until it is killed.
 */
import { writeSync } from "node:fs"

export const PAUSED = "paused at exit with code"

// Node calls this member, on purpose a replaceable one, as the last step of every orderly exit.
const ending = process as unknown as { reallyExit: (code: number) => void }
ending.reallyExit = (code) => {
  writeSync(1, `${PAUSED} ${code}\n`)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
