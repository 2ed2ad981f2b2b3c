/** A long turn of a coding agent: about 200,000 tokens in many messages, beside an unsealed pass-through. */
import { globSync, readFileSync } from "node:fs"
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runSealgate, runServer } from "../harness/servers.ts"
import type { PlainLoad } from "../loads/plain.ts"
import type { SealedLoad } from "../loads/sealed.ts"

/** About four characters per token. */
const CHARACTERS = 800_000
const MESSAGES = 101
const PER_SECOND = 300

/** Code, as agents send it, with line ends and quotes that JSON escapes. */
const messages = () => {
  const code = globSync("src/**/*.ts")
    .sort()
    .map((file) => readFileSync(file, "utf8"))
    .join("")
  const length = Math.floor(CHARACTERS / MESSAGES)
  return Array.from({ length: MESSAGES }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: code.slice(i * length, (i + 1) * length),
  }))
}

export const long: Case = {
  name: "long",
  title: "Completions with prompts of 200,000 tokens, one connection",
  unit: "a completion",
  run: async (bench) => {
    const upstream = await bench.use(runServer("upstream"))
    const sealgate = await bench.use(runSealgate(upstream, { MAX_REQUEST_BYTES: "4MiB" }))
    const bare = await bench.use(runServer("bare", { UPSTREAM: upstream.url }))
    const body = { model: "m", messages: messages() }
    const payload = { api: "chat.completions", body }
    const sealed = { url: sealgate.url, payload, ending: '"]}', perSecond: PER_SECOND } satisfies SealedLoad
    const url = `${bare.url}/v1/chat/completions`
    const plain = { url, body: JSON.stringify(body), ending: "}" } satisfies PlainLoad
    const { measure, measures } = await compare(bench, 1, [
      { subject: "sealgate, sealed", pid: sealgate.pid, load: await bench.use(startLoad("sealed", sealed)) },
      { subject: "node:http pass-through", pid: bare.pid, load: await bench.use(startLoad("plain", plain)) },
    ])
    const added = measure("sealgate, sealed").p50 - measure("node:http pass-through").p50
    return {
      measures,
      figures: [{ what: "added to the latency of the bare pass-through, p50", unit: "ms", value: added, atMost: 60 }],
    }
  },
}
