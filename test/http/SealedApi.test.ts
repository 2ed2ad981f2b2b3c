/** The protocol's page, held against what the proxy declares that it answers. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { failureCodes } from "../../src/domain/failures.ts"
import { startProxy } from "../support/proxy.ts"

const page = readFileSync(new URL("../../docs/protocol/README.md", import.meta.url), "utf8")
const refusals = /^## 7\. Refusals$(.*?)^## 8/ms.exec(page)?.[1] ?? ""
const listed = Array.from(refusals.matchAll(/^\| (\d{3}) \| (`[^|]*`) \|/gm), ([, status = "", codes = ""]) =>
  codes.split(", ").map((code) => `${status} ${code}`),
).flat()

interface Described {
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, object>> }>
  >
}

describe("the page", () => {
  it.live("lists every refusal without a seal", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { paths } = yield* Effect.promise(async () => {
        const response = await fetch(`${proxy.url}/openapi.json`)
        return (await response.json()) as { readonly paths: Readonly<Record<string, { readonly post: Described }>> }
      })
      const declared = ["/v1/init", "/v1/completions"].flatMap((path) =>
        Object.entries(paths[path]?.post.responses ?? {}).flatMap(([status, { description }]) =>
          (description.match(/`[^`]+`/g) ?? []).map((code) => `${status} ${code}`),
        ),
      )
      assert.sameMembers(listed, [...new Set(declared)])
    }),
  )

  it("lists every status of a problem under seal", () => {
    const [, words = ""] = /a problem's `status` is one of ([\d, and]+),/.exec(refusals) ?? []
    const statuses = Array.from(words.matchAll(/\d+/g), ([status]) => Number(status))
    // Of the proxy itself are `stale` (400), `unauthorized` (401), `replayed` (409), `internal` (500) and `draining` (503).
    const ofProviders = Object.values(failureCodes).map(({ status }) => status)
    assert.deepStrictEqual(statuses, [...new Set([...ofProviders, 401, 409, 500])].sort())
  })
})
