import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { GatewayApi } from "../../src/http/gateway/Api.ts"
import { TRANSITIONS } from "../../src/domain/job.ts"
import { ownGatewaySettings } from "../../src/layers/config/gatewaySettings.ts"
import { settingsTable } from "../support/settingsTable.ts"

const guide = readFileSync("docs/gateway.md", "utf8")

describe("docs/gateway.md", () => {
  it("lists every setting that only the gateway has, as it is", () => {
    assert.include(guide, settingsTable(ownGatewaySettings))
  })

  it("names every endpoint of the API", () => {
    for (const { endpoints } of [GatewayApi.groups.agents, GatewayApi.groups.jobs, GatewayApi.groups.routing]) {
      for (const { method, path } of Object.values(endpoints)) assert.include(guide, `| ${method} | \`${path}\` |`)
    }
  })

  it("shows every state and every transition, and no other", () => {
    const drawn = [...guide.matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} → ${to}`)
    const real = Object.entries(TRANSITIONS).flatMap(([from, targets]) => targets.map((to) => `${from} → ${to}`))
    assert.sameMembers(drawn, real)
  })
})
