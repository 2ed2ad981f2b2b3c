/** Cost of requests that are refused before anything is opened. */
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runSealgate, runServer } from "../harness/servers.ts"
import type { PlainLoad } from "../loads/plain.ts"

const LANES = 16
const BYTES = 4096

const unknown = {
  session_id: Buffer.alloc(16).toString("base64url"),
  enc: Buffer.alloc(1120, 7).toString("base64url"),
  ciphertext: Buffer.alloc(BYTES, 7).toString("base64url"),
}

export const refusal: Case = {
  name: "refusal",
  title: `Refused requests, ${LANES} connections, bodies of 4 kB`,
  unit: "a request",
  run: async (bench) => {
    const upstream = await bench.use(runServer("upstream"))
    /** Uses up the one request that the limit allows per minute. */
    const spend = async (url: string) => void (await fetch(url, { method: "POST", body: "{}" }))
    const start = async (subject: string, env: Readonly<Record<string, string>>, load: Omit<PlainLoad, "url">) => {
      const proxy = await bench.use(runSealgate(upstream, env))
      const url = `${proxy.url}/v1/completions`
      await spend(url)
      return { subject, pid: proxy.pid, load: await bench.use(startLoad("plain", { ...load, url })) }
    }
    const malformed = JSON.stringify({ ...unknown, enc: "-" })
    const { measure, measures } = await compare(bench, LANES, [
      await start("malformed", {}, { body: malformed, status: 400 }),
      await start("over the limit", { RATE_LIMIT_COMPLETIONS: "1" }, { body: JSON.stringify(unknown), status: 429 }),
      await start("of an unknown session", {}, { body: JSON.stringify(unknown), status: 410 }),
    ])
    return {
      measures,
      figures: [
        { what: "CPU, malformed", unit: "ms", value: measure("malformed").cpu, atMost: 0.15 },
        { what: "CPU, over the limit", unit: "ms", value: measure("over the limit").cpu, atMost: 0.15 },
      ],
    }
  },
}
