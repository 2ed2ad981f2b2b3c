/** What stays in memory of this process: leaks show up only after a long life, so tests repeat a short one. */
import { setImmediate } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** Removes everything that nothing refers to. A weak reference that was read keeps its object until the turn ends. */
export const collectGarbage = async (): Promise<void> => {
  await setImmediate()
  collect()
}

/** By how many bytes the heap is larger after `work`. */
export const keptBy = async (work: () => void): Promise<number> => {
  await collectGarbage()
  const before = process.memoryUsage().heapUsed
  work()
  await collectGarbage()
  return process.memoryUsage().heapUsed - before
}
