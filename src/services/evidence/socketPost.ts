/** JSON requests to a service of this machine that listens on a Unix socket. */
import { request } from "node:http"
import { Effect, Schema } from "effect"
import { SourceFailed } from "./EvidenceSource.ts"

/** Longest accepted answer, in bytes. An event log has some 100 kB. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** Posts JSON to `path` of the service at `socketPath` and returns the text of its answer. */
export const socketPost = (socketPath: string, path: string, body: object): Effect.Effect<string, SourceFailed> =>
  Effect.callback<string, SourceFailed>((resume) => {
    const fail = (problem: string) => resume(Effect.fail(new SourceFailed({ problem: `${socketPath}: ${problem}` })))
    const text = JSON.stringify(body)
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) }
    const outgoing = request({ socketPath, path, method: "POST", headers, agent: false }, (incoming) => {
      const parts: Array<Buffer> = []
      let length = 0
      incoming.on("data", (part: Buffer) => {
        length += part.length
        if (length <= MAX_ANSWER_BYTES) return void parts.push(part)
        fail(`its answer to ${path} is longer than ${MAX_ANSWER_BYTES} bytes`)
        outgoing.destroy()
      })
      incoming.on("error", () => fail(`its answer to ${path} broke off`))
      incoming.on("end", () => {
        if (incoming.statusCode !== 200) return fail(`it answered ${path} with status ${incoming.statusCode}`)
        resume(Effect.succeed(Buffer.concat(parts).toString("utf8")))
      })
    })
    outgoing.on("error", (error: NodeJS.ErrnoException) => fail(`it cannot be reached (${error.code ?? "broken off"})`))
    outgoing.end(text)
    return Effect.sync(() => outgoing.destroy())
  })

/** The same, for an answer that is JSON of the shape `schema`. */
export const socketCall = <A>(socketPath: string, path: string, body: object, schema: Schema.Codec<A, unknown>) =>
  Effect.flatMap(socketPost(socketPath, path, body), (text) =>
    Effect.mapError(
      Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text),
      () => new SourceFailed({ problem: `${socketPath}: its answer to ${path} has another shape than documented` }),
    ),
  )
