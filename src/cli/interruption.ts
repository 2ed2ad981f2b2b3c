import { Effect } from "effect"

/** Exit code of a command that Ctrl-C ended, as shells write it. */
const INTERRUPTED = 130

/** For what is not done when it is interrupted, unlike a server: the exit code says so. */
export const unfinishedWhenInterrupted = Effect.onInterrupt(() =>
  Effect.sync(() => {
    process.exitCode = INTERRUPTED
  }),
)
