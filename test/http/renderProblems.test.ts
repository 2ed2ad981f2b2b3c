import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Draining, Malformed } from "../../src/api/problems.ts"
import { renderProblems, retryAfter } from "../../src/http/shared/renderProblems.ts"

it.effect("a server that stops during a request sends Retry-After, as one that refuses it does", () =>
  Effect.gen(function* () {
    const routes = { methods: () => ["GET"], label: () => "/" }
    const render = renderProblems({
      routes,
      maxBodyBytes: () => 1,
      seeInstead: "",
      malformed: (why) => new Malformed(why),
    })
    const request = HttpServerRequest.fromWeb(new Request("http://sealgate.example/"))
    const response = yield* render(request, Effect.succeed(HttpServerResponse.empty({ status: 503 })))
    const web = HttpServerResponse.toWeb(response)
    assert.deepStrictEqual([web.status, web.headers.get("retry-after")], [503, "1"])
    assert.deepStrictEqual(yield* Effect.promise(() => web.json()), new Draining().problem)
  }),
)

it("Retry-After is in whole seconds, rounded up, and at least 1", () => {
  const cases = [0, 1, 999, 1000, 1000.5, 1001, 59_999, 60_000].map((ms) => Number(retryAfter(ms)["retry-after"]))
  assert.deepStrictEqual(cases, [1, 1, 1, 1, 2, 2, 60, 60])
})
