/** Lists the cases and takes verdicts over HTTP, for clients that are not a command, such as one in a browser. */
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { isObject, parseJson } from "../../domain/json/json.ts"
import { reportOf, type Result } from "../report.ts"
import type { Case } from "./Case.ts"
import type { ExtraEndpoints, ServedCases } from "./CaseServer.ts"
import { judge, type ClientVerdict } from "./judge.ts"
import type { ProxyReply } from "../lyingProxy/Lie.ts"
import { jsonReply, problemReply } from "../lyingProxy/replies.ts"

const saidIn = (body: Uint8Array): ClientVerdict | undefined => {
  const value = parseJson(Buffer.from(body).toString("utf8"))
  if (!isObject(value) || typeof value["believed"] !== "boolean") return undefined
  return value["believed"] ? { type: "believed", output: String(value["output"] ?? "") } : { type: "refused" }
}

/**
 * `GET /` lists the cases, `POST /verdicts/<case>` takes `{"believed": true, "output": "…"}` or `{"believed": false}`, and
 * `GET /report` returns the results so far.
 */
export const makeVerdictEndpoints = (cases: ReadonlyArray<Case>): ExtraEndpoints => {
  const results = new Map<string, Result>()
  const verdict = (server: ServedCases, name: string, body: Uint8Array): ProxyReply => {
    const subject = cases.find((each) => each.name === name)
    const play = server.play(name)
    const said = saidIn(body)
    if (subject === undefined || play === undefined) return problemReply(404, "not-found")
    if (said === undefined) return problemReply(400, "malformed")
    const result = judge(subject, play, said, server.text)
    results.set(name, result)
    return jsonReply(result)
  }
  const list = (server: ServedCases) => ({
    pin: server.pin,
    text: server.text,
    report: `${server.url}/report`,
    cases: cases.map(({ expect, form, must, name, says }) => ({
      must,
      name,
      says,
      expect: expect === "answer" ? "believed" : "refused",
      ...withoutUndefined({ form }),
      url: `${server.url}/${name}`,
      verdict: `${server.url}/verdicts/${name}`,
    })),
  })
  return (server, method, path, body) => {
    const [, name] = /^\/verdicts\/([\w-]+)$/.exec(path) ?? []
    if (method === "POST" && name !== undefined) return verdict(server, name, body)
    if (method === "GET" && path === "/") return jsonReply(list(server))
    if (method === "GET" && path === "/report") return jsonReply(reportOf("client", [...results.values()]))
    return undefined
  }
}
