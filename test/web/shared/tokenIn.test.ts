import { assert, it } from "@effect/vitest"
import { tokenIn } from "../../../src/web/shared/tokenIn.ts"

it("extracts a token from pasted text", () => {
  for (const pasted of [
    "a.b.c",
    " a.b.c\n",
    "Bearer a.b.c",
    "authorization: bearer a.b.c",
    "export SEALGATE_TOKEN=a.b.c",
    '"a.b.c"',
  ]) {
    assert.strictEqual(tokenIn(pasted), "a.b.c")
  }
})
