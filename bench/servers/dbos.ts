/** Three provider calls as a DBOS workflow. Environment: DATABASE, UPSTREAM, CONNECTIONS. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { jsonOf, makeAsk } from "../loads/http.ts"

interface Handle {
  readonly workflowID: string
  readonly getResult: () => Promise<unknown>
}

/** The part of DBOS used here; its types exist only once it is installed. */
interface Dbos {
  readonly setConfig: (config: object) => void
  readonly launch: () => Promise<void>
  readonly runStep: <A>(step: () => Promise<A>, options: { readonly name: string }) => Promise<A>
  readonly registerWorkflow: <A>(
    workflow: (task: string) => Promise<A>,
    options: { readonly name: string },
  ) => (task: string) => Promise<A>
  readonly startWorkflow: <A>(workflow: (task: string) => Promise<A>) => (task: string) => Promise<Handle>
}

const SDK = "@dbos-inc/dbos-sdk"
const { DBOS } = (await import(SDK)) as { readonly DBOS: Dbos }

const { CONNECTIONS, DATABASE, UPSTREAM } = process.env
const ask = makeAsk()

const call = async (content: string): Promise<string> => {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content }] })
  const { choices } = jsonOf(await ask("POST", `${UPSTREAM}/v1/chat/completions`, body), 200)
  return JSON.stringify(choices)
}

const threeSteps = DBOS.registerWorkflow(
  async (task) => {
    const proposal = await DBOS.runStep(() => call(task), { name: "propose" })
    const criticism = await DBOS.runStep(() => call(`${task} ${proposal}`), { name: "criticise" })
    return DBOS.runStep(() => call(`${task} ${proposal} ${criticism}`), { name: "judge" })
  },
  { name: "threeSteps" },
)

DBOS.setConfig({
  name: "bench",
  systemDatabaseUrl: DATABASE,
  systemDatabasePoolSize: Number(CONNECTIONS),
  logLevel: "error",
})
await DBOS.launch()

/** Handles by id: a handle of this process resolves at once; others poll the database every second. */
const handles = new Map<string, Handle>()

const server = createServer((request, response) => {
  const answer = (status: number, body: object) => {
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify(body))
  }
  const failed = (error: unknown) => answer(500, { error: String(error) })
  if (request.method === "GET") {
    const id = request.url?.split("/").at(-1) ?? ""
    const handle = handles.get(id)
    handles.delete(id)
    if (handle === undefined) return answer(404, {})
    handle
      .getResult()
      .then((result) => answer(200, { id, status: "SUCCESS", result }))
      .catch(failed)
    return
  }
  let body = ""
  request.setEncoding("utf8").on("data", (part: string) => (body += part))
  request.once("end", () => {
    const { task } = JSON.parse(body) as { readonly task: string }
    DBOS.startWorkflow(threeSteps)(task)
      .then((handle) => {
        handles.set(handle.workflowID, handle)
        answer(202, { id: handle.workflowID })
      })
      .catch(failed)
  })
})
server.listen(0, "127.0.0.1", () => {
  // A server that listens on a port has an address object.
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
