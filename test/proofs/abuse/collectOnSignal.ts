/** Preloaded into a server under attack: SIGUSR2 collects garbage, so that only held memory remains. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
// The flag exposes the function only in contexts created afterwards.
const collect: unknown = runInNewContext("gc")
process.on("SIGUSR2", () => {
  if (typeof collect === "function") collect()
})
