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

  it.live("lists every status of a refusal under seal", () =>
    Effect.gen(function* () {
      const [, words = ""] = /Its status is one of ([\d, and]+),/.exec(refusals) ?? []
      const statuses = Array.from(words.matchAll(/\d+/g), ([status]) => Number(status))
      // Those of the proxy itself are `invalid-request` and `stale` (400) and `draining` (503).
      assert.deepStrictEqual(statuses, [...new Set(Object.values(failureCodes).map(({ status }) => status))].sort())
      const proxy = yield* startProxy()
      const response = yield* Effect.promise(() => fetch(`${proxy.url}/openapi.json`))
      const { paths } = (yield* Effect.promise(() => response.json())) as {
        readonly paths: Readonly<Record<string, { readonly post: Described }>>
      }
      const sealed = Object.entries(paths["/v1/completions"]?.post.responses ?? {}).flatMap(([status, { content }]) =>
        Number(status) >= 400 && content?.["application/json"] !== undefined ? [Number(status)] : [],
      )
      assert.deepStrictEqual(sealed, statuses)
    }),
  )
})
