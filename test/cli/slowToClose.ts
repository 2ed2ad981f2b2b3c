/**
 * A server as far as signals go: it closes within so many milliseconds, or never, and may hear SIGINT again meanwhile. It
 * gives up after so many seconds.
 */
import { Duration, Effect, Layer } from "effect"
import { layerLastResort, runUntilSignal } from "../../src/cli/runUntilSignal.ts"

const [closing = "0", again = "", patience = "60"] = process.argv.slice(2)
const say = (word: string) => Effect.sync(() => console.log(word))
const signal = Effect.sync(() => again === "" || process.kill(process.pid, "SIGINT"))
const close = Effect.andThen(signal, closing === "never" ? Effect.never : Effect.sleep(Number(closing)))
const resource = Layer.effectDiscard(
  Effect.acquireRelease(say("running"), () => Effect.andThen(say("closing"), Effect.andThen(close, say("closed")))),
)

process.on("exit", () => console.log("exit hook"))
// Keeps the process alive by a listener, like a server.
setInterval(() => undefined, 1000)
runUntilSignal(
  Layer.launch(layerLastResort(Duration.zero, Duration.seconds(Number(patience))).pipe(Layer.provideMerge(resource))),
  true,
)
