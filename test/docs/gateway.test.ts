import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { GatewayApi } from "../../src/http/gateway/Api.ts"
import { TRANSITIONS } from "../../src/domain/job.ts"
import { JobSettings } from "../../src/services/jobs/JobSettings.ts"

const guide = readFileSync("docs/gateway.md", "utf8")

describe("docs/gateway.md", () => {
  it("names every endpoint of the API", () => {
    for (const { endpoints } of [GatewayApi.groups.agents, GatewayApi.groups.jobs, GatewayApi.groups.routing]) {
      for (const { method, path } of Object.values(endpoints)) assert.include(guide, `| ${method} | \`${path}\` |`)
    }
  })

  it("says when a job that keeps crashing its workers waits, and when it fails", () => {
    const { crashBase, crashCap, innocentCrashes, maxCrashes } = JobSettings.defaultValue()
    const says = guide.replaceAll(/\s+/g, " ")
    assert.include(says, `After ${innocentCrashes} crashes in a row it still goes on`)
    const [first, most] = [Duration.toSeconds(crashBase), Duration.toSeconds(crashCap)]
    assert.include(says, `it waits first, ${first} s and then twice as long each time, up to ${most} s`)
    assert.include(says, `After more than ${maxCrashes} it is \`failed\``)
  })

  it("shows every state and every transition, and no other", () => {
    const drawn = [...guide.matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} → ${to}`)
    const real = Object.entries(TRANSITIONS).flatMap(([from, targets]) => targets.map((to) => `${from} → ${to}`))
    assert.sameMembers(drawn, real)
  })
})
