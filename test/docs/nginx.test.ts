/** The documented configuration of nginx is one that nginx takes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { checkNginx, hasNginx, NO_NGINX } from "../support/nginx.ts"

if (!hasNginx) console.warn(NO_NGINX)

describe.runIf(hasNginx)("deploy/nginx.conf", () => {
  it.live("passes nginx -t", () =>
    Effect.gen(function* () {
      const { status, stderr } = yield* checkNginx
      assert.strictEqual(status, 0, stderr)
      assert.notInclude(stderr, "[warn]")
    }),
  )
})
