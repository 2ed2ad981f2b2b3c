/** Unsealed completions through the gateway, each entered in its ledger, beside a gateway that keeps none. */
import { Effect } from "effect"
import { postgresDatabase, postgresIsThere, sqliteFile } from "../../test/support/databases.ts"
import { call, tokenFor } from "../../test/support/gateway.ts"
import type { Case } from "../harness/Case.ts"
import { COMPILED, compare, warm } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runGateway, runPortkey, runServer, type Server } from "../harness/servers.ts"
import type { PlainLoad } from "../loads/plain.ts"

const LANES = 32
const PORTKEY = "Portkey 1.15.2"
const MODEL = "gpt-4o"

const body = JSON.stringify({
  model: MODEL,
  messages: [{ role: "user", content: "The quick brown fox jumps over the lazy dog." }],
})

const startGateway = Effect.fnUntraced(function* (database: string, upstream: Server) {
  const gateway = yield* runGateway(database, upstream, { PROVIDER1_MODEL: MODEL })
  const token = yield* tokenFor("boss", { roles: ["admin"] })
  const { json, text } = yield* call(gateway, "POST", "/api/v1/keys", { token, body: { name: "k", roles: ["run"] } })
  if (json["key"] === undefined) throw new Error(`no key was made: ${text}`)
  return { ...gateway, headers: { authorization: `Bearer ${String(json["key"])}` } }
})

export const gateway: Case = {
  name: "gateway",
  title: `Completions through the gateway, ${LANES} connections`,
  unit: "a completion",
  run: async (bench) => {
    if (!postgresIsThere) throw new Error("There is no Postgres to measure on: set TEST_DATABASE_URL.")
    const upstream = await bench.use(runServer("upstream"))
    const subject = async (name: string, server: Server, headers: Readonly<Record<string, string>> = {}) => {
      const load = { url: `${server.url}/v1/chat/completions`, headers, body, ending: "}" } satisfies PlainLoad
      return { subject: name, pid: server.pid, load: await bench.use(startLoad("plain", load)) }
    }
    const onSqlite = await bench.use(startGateway(await bench.use(sqliteFile), upstream))
    const onPostgres = await bench.use(startGateway(await bench.use(postgresDatabase({})), upstream))
    const portkey = await bench.use(runPortkey(upstream))
    const subjects = [
      await subject("sealgate, SQLite", onSqlite, onSqlite.headers),
      await subject("sealgate, Postgres", onPostgres, onPostgres.headers),
      await subject(PORTKEY, portkey, portkey.headers),
      await subject("Effect pass-through", await bench.use(runServer("effect", { UPSTREAM: upstream.url }))),
    ]
    await warm(bench, LANES, subjects, bench.count(COMPILED, 10))
    // More rounds than elsewhere, because the p99 of a round varies by a third.
    const { measures, ratio } = await compare({ ...bench, rounds: 3 * bench.rounds }, LANES, subjects)
    const figures = ["SQLite", "Postgres"].flatMap((database) => [
      {
        what: `CPU on ${database}, to Portkey`,
        unit: "×",
        value: ratio(`sealgate, ${database}`, PORTKEY, "cpu"),
        atMost: 1,
      },
      {
        what: `p99 on ${database}, to Portkey`,
        unit: "×",
        value: ratio(`sealgate, ${database}`, PORTKEY, "p99"),
        atMost: 1,
      },
    ])
    return { measures, figures }
  },
}
