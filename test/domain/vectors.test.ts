/** Published vectors. Tests of the byte layouts compare the product with the same reference; the client replays the vectors. */
import { assert, it } from "@effect/vitest"
import { SOFTWARE } from "../../src/domain/operations/software.ts"
import { negatives, published } from "../support/protocol/published.ts"
import { makeNegatives } from "../support/protocol/negatives.ts"
import { makeVectors } from "../support/protocol/vectors.ts"

it("the published vectors are what the reference implementation computes", async () => {
  const vectors = await makeVectors(SOFTWARE)
  assert.deepStrictEqual(published, vectors)
  // Members without a value do not reach the file.
  assert.deepStrictEqual<unknown>(negatives, JSON.parse(JSON.stringify(await makeNegatives(vectors))))
})
