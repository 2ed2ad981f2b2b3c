/** Preloaded into the command: sends it SIGTERM while it loads. */
import { registerHooks } from "node:module"

registerHooks({
  load: (url, context, next) => {
    if (url.includes("/chunks/commandLine-")) process.kill(process.pid, "SIGTERM")
    return next(url, context)
  },
})
