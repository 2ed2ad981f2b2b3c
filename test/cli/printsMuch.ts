/**
 * Prints more than any pipe holds, says so on standard error, and ends; or first waits for a word and prints more; or, as a
 * server, closes at a signal, or never.
 */
import { once } from "node:events"
import { Effect, Layer } from "effect"
import { runUntilSignal } from "../../src/cli/runUntilSignal.ts"

const MUCH = 2_000_000
const [kind = "command", closing = ""] = process.argv.slice(2)
const print = Effect.sync(() => {
  console.log(`begin\n${"x".repeat(MUCH)}\nend`)
  process.stderr.write("printed\n")
})
const printMore = Effect.promise(async () => {
  await once(process.stdin, "data")
  process.stdout.write("more\n")
  process.stderr.write("more\n")
})
const server = Layer.effectDiscard(
  Effect.acquireRelease(print, () => (closing === "never" ? Effect.never : Effect.void)),
)
const programs: Readonly<Record<string, Effect.Effect<unknown>>> = {
  command: print,
  chatty: Effect.andThen(print, printMore),
  server: Layer.launch(server),
}

// Keeps the process alive by a listener, like a server.
if (kind === "server") setInterval(() => undefined, 1000)
runUntilSignal(programs[kind] ?? Effect.die("no such kind"), kind === "server")
