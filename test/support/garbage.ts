/** Memory that this process retains. Leaks show only over a long life, so tests repeat a short one. */
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

/** Growth of the heap by `work`, in bytes. */
export const keptBy = async (work: () => void): Promise<number> => {
  await collectGarbage()
  const before = process.memoryUsage().heapUsed
  work()
  await collectGarbage()
  return process.memoryUsage().heapUsed - before
}
