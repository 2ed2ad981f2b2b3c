import { setTimeout as sleep } from "node:timers/promises"

/** Time limit for whatever is waited for. */
const SOON_MS = 60_000
const LOOK_EVERY_MS = 50

/** Polls until the condition holds. */
export const until = async (what: string, condition: () => boolean | Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + SOON_MS
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${SOON_MS} ms: ${what}`)
    await sleep(LOOK_EVERY_MS)
  }
}
