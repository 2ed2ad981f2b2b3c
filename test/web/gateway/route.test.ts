import { assert, describe, it } from "@effect/vitest"
import { HOME, hrefOf, type Route, routeOf, sectionOf } from "../../../src/web/gateway/route.ts"

const routes: ReadonlyArray<readonly [Route, string]> = [
  [{ view: "overview" }, "overview"],
  [{ view: "agents" }, "agents"],
  [{ view: "new-agent" }, "agents"],
  [{ view: "agent", id: "01890a5d-ac96-774b-bcce-b302099a8057" }, "agents"],
  [{ view: "agent", id: "a/b c%" }, "agents"],
  [{ view: "jobs", status: undefined, thread: undefined }, "jobs"],
  [{ view: "job", id: "1" }, "jobs"],
  [{ view: "jobs", status: "failed", thread: undefined }, "jobs"],
  [{ view: "jobs", status: "failed", thread: "01890a5d-ac96-774b-bcce-b302099a8057" }, "jobs"],
  [{ view: "schedules" }, "jobs"],
  [{ view: "keys" }, "keys"],
  [{ view: "audit" }, "keys"],
]

describe("routes", () => {
  it("survive a round trip through their address, and belong to a section", () => {
    for (const [route, section] of routes) {
      assert.deepStrictEqual(routeOf(hrefOf(route)), route)
      assert.strictEqual(sectionOf(route), section)
    }
  })

  it("default to home, and ignore anchors within the page", () => {
    for (const hash of ["", "#", "#/", "#/nowhere", "#/jobs/1/2"]) assert.deepStrictEqual(routeOf(hash), HOME, hash)
    assert.isUndefined(routeOf("#main"))
  })

  it("ignore an unknown status", () => {
    assert.deepStrictEqual(routeOf("#/jobs?status=lost"), { view: "jobs", status: undefined, thread: undefined })
  })

  it("keep a broken escape as text", () => {
    assert.deepStrictEqual(routeOf("#/jobs/%E0%"), { view: "job", id: "%E0%" })
  })
})
