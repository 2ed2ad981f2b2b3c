import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration } from "effect"
import { OpenApi } from "effect/http-api"
import { GatewayApi } from "../../src/api/gateway/GatewayApi.ts"
import { descriptionOf } from "../../src/http/shared/description/describe.ts"
import { operationsIn } from "../../src/http/shared/description/describe.ts"
import { GATEWAY_EXAMPLES } from "../../src/http/gateway/examples.ts"
import { TRANSITIONS } from "../../src/domain/jobs/job.ts"
import { StorageUnavailable } from "../../src/domain/operations/storage.ts"
import { BudgetExhausted } from "../../src/domain/access/budgets.ts"
import { NoTarget } from "../../src/services/routing/RoutingErrors.ts"
import { JobSettings } from "../../src/services/jobs/JobSettings.ts"

/** Codes of requests that match no operation. */
const OF_NO_OPERATION = ["method-not-allowed", "headers-too-large"]

/** Returns the codes that a description names. */
const codesIn = (document: ReturnType<typeof descriptionOf>): ReadonlyArray<string> => {
  const responses = operationsIn(document).flatMap(({ responses }) => Object.values(responses))
  const descriptions = responses.map(({ description }) => description)
  return [...new Set(descriptions.flatMap((text) => [...text.matchAll(/`(.+?)`/g)].map(([, code = ""]) => code)))]
}

const guide = readFileSync("docs/reference/gateway-api.md", "utf8")

describe("docs/reference/gateway-api.md", () => {
  it("names every endpoint of the API", () => {
    for (const { endpoints } of Object.values(GatewayApi.groups).filter(({ identifier }) => identifier !== "system")) {
      for (const { annotations, method, path } of Object.values(endpoints)) {
        if (!Context.get(annotations, OpenApi.Exclude)) assert.include(guide, `\`${method} ${path}\``)
      }
    }
  })

  it("states when a job that crashes its workers waits, and when it fails", () => {
    const { crashBase, crashCap, innocentCrashes, maxCrashes } = JobSettings.defaultValue()
    const says = guide.replaceAll(/\s+/g, " ")
    assert.include(says, `After ${innocentCrashes} crashes in a row it still goes on`)
    const [first, most] = [Duration.toSeconds(crashBase), Duration.toSeconds(crashCap)]
    assert.include(says, `it waits first, ${first} s and then twice as long each time, up to ${most} s`)
    assert.include(says, `After more than ${maxCrashes} it is \`failed\``)
  })

  it("shows exactly the states and transitions", () => {
    const drawn = [...guide.matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} → ${to}`)
    const real = Object.entries(TRANSITIONS).flatMap(([from, targets]) => targets.map((to) => `${from} → ${to}`))
    assert.sameMembers(drawn, real)
  })
})

const problems = readFileSync("docs/reference/problems.md", "utf8")

/** Returns the codes in the lists between two headings, or texts, of the page. */
const documented = (from: string, to: string): ReadonlyArray<string> =>
  [...problems.slice(problems.indexOf(from), problems.indexOf(to)).matchAll(/^- (`[^:(]+`)/gm)].flatMap(
    ([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code),
  )

const JOBS = "A failed job has"

describe("docs/reference/problems.md", () => {
  it("has exactly the codes of the gateway's refusals", () => {
    const codes = [...documented("## Either server", "## The proxy, outside"), ...documented("## The gateway", JOBS)]
    assert.sameMembers(codes, [...codesIn(descriptionOf(GatewayApi, GATEWAY_EXAMPLES)), ...OF_NO_OPERATION])
  })

  it("has exactly the codes of jobs' problems", () => {
    const ofJobs = readdirSync("src/services/jobs", { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) => [
        ...readFileSync(`src/services/jobs/${path}`, "utf8").matchAll(/(?:\bcode: |failure\()"(.*?)"/g),
      ])
      .map(([, code = ""]) => code)
    const ofRouting = NoTarget.fields.reason.literals.map((reason) => new NoTarget({ reason }).code)
    const ofBudgets = [true, false].map((isReserved) => {
      const owner = { kind: "key", id: "key" } as const
      return new BudgetExhausted({ owner, per: "total", leftCost: null, leftTokens: 0, isReserved }).code
    })
    const { code: ofStorage } = new StorageUnavailable()
    assert.includeMembers(ofJobs, ["internal", "job-timed-out", "job-crashed-workers", "cost-limit-reached"])
    const ofProxy = documented("## The proxy, under", "## The gateway")
    const shared = new Set(["internal", "rate-limited", ofStorage, ...ofProxy])
    const real = new Set([...ofJobs, ...ofRouting, ...ofBudgets].filter((code) => !shared.has(code)))
    assert.sameMembers([...documented(JOBS, "## Clients")], [...real])
  })
})
