/**
 * Preloaded into a process to inspect its memory after the last exit hook: pauses it there until
 * it is killed.
 */
import { writeSync } from "node:fs"

export const PAUSED = "paused at exit with code"

// Node calls this replaceable member as the last step of every orderly exit.
const ending = process as unknown as { reallyExit: (code: number) => void }
ending.reallyExit = (code) => {
  writeSync(1, `${PAUSED} ${code}\n`)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
