/** Short completions with the post-quantum suite, beside unsealed pass-throughs. */
import type { Bench, Case } from "../harness/Case.ts"
import { COMPILED, compare, warm } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runPortkey, runSealgate, runServer, type Server } from "../harness/servers.ts"
import type { PlainLoad } from "../loads/plain.ts"
import type { SealedLoad } from "../loads/sealed.ts"

const LANES = 32
const PER_SECOND = 2000

/** The floor of any implementation of the protocol on Node. */
const FLOOR = "the same with an exchange's crypto"

const body = {
  model: "gpt-4o",
  messages: [{ role: "user" as const, content: "The quick brown fox jumps over the lazy dog." }],
}

const subjectsOf = async (bench: Bench, perSecond: number) => {
  const upstream = await bench.use(runServer("upstream"))
  const plain = async (subject: string, server: Server, headers: Readonly<Record<string, string>> = {}) => {
    const url = `${server.url}/v1/chat/completions`
    const load = { url, headers, body: JSON.stringify(body), ending: "}" } satisfies PlainLoad
    return { subject, pid: server.pid, load: await bench.use(startLoad("plain", load)) }
  }
  const sealgate = await bench.use(runSealgate(upstream))
  // Answers are not opened under load, so check one here.
  const { completion } = await sealgate.client().complete(body)
  if (completion.choices[0]?.message.content !== "A short answer.") throw new Error("the proxy answers something else")
  const payload = { api: "chat.completions", body: { ...body, stream: false } }
  const sealed = { url: sealgate.url, payload, ending: '"]}', perSecond } satisfies SealedLoad
  const portkey = await bench.use(runPortkey(upstream))
  const env = { UPSTREAM: upstream.url }
  return [
    { subject: "sealgate, sealed", pid: sealgate.pid, load: await bench.use(startLoad("sealed", sealed)) },
    await plain("Portkey 1.15.2", portkey, portkey.headers),
    await plain("Effect pass-through", await bench.use(runServer("effect", env))),
    await plain("node:http pass-through", await bench.use(runServer("bare", env))),
    await plain(FLOOR, await bench.use(runServer("bare", { ...env, CRYPTOGRAPHY: "1" }))),
  ]
}

export const completion: Case = {
  name: "completion",
  title: `Completions, MLKEM768-X25519, ${LANES} connections`,
  unit: "a completion",
  run: async (bench) => {
    const subjects = await subjectsOf(bench, PER_SECOND)
    await warm(bench, LANES, subjects, bench.count(COMPILED, 10))
    const { measures, ratio } = await compare(bench, LANES, subjects)
    const to = (peer: string, of: "cpu" | "p99") => ratio("sealgate, sealed", peer, of)
    return {
      measures,
      figures: [
        { what: "CPU, to Portkey", unit: "×", value: to("Portkey 1.15.2", "cpu"), atMost: 0.9 },
        { what: "CPU, to the Effect pass-through", unit: "×", value: to("Effect pass-through", "cpu"), atMost: 4 },
        { what: "CPU, to that of node:http with the cryptography", unit: "×", value: to(FLOOR, "cpu") },
        { what: "p99, to Portkey", unit: "×", value: to("Portkey 1.15.2", "p99"), atMost: 1 },
      ],
    }
  },
}

export const latency: Case = {
  name: "latency",
  title: "Completions, MLKEM768-X25519, one connection",
  unit: "a completion",
  run: async (bench) => {
    const subjects = await subjectsOf(bench, PER_SECOND / 2)
    await warm(bench, 1, subjects, bench.count(COMPILED, 10))
    const { measure, measures } = await compare(bench, 1, subjects)
    const added = measure("sealgate, sealed").p50 - measure("node:http pass-through").p50
    return {
      measures,
      figures: [{ what: "added to the latency of the bare pass-through, p50", unit: "ms", value: added, atMost: 1.2 }],
    }
  },
}
