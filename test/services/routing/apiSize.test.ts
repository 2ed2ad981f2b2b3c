import { assert, describe, it, vi } from "@effect/vitest"
import type { ApiName } from "../../../src/domain/upstream/apis.ts"
import { RawObject } from "../../../src/domain/json/rawObject.ts"
import { apiSize } from "../../../src/services/routing/apiSize.ts"

const sizeOf = (api: ApiName, members: Parameters<typeof RawObject.of>[0]) => {
  const body = RawObject.of(members)
  const value = vi.spyOn(body, "value")
  const size = apiSize({ api, body, headers: {}, model: undefined })
  return { size, bytes: body.bytes.length, read: value.mock.calls.map(([name]) => name) }
}

describe("the size of an embeddings request", () => {
  const input = Array.from({ length: 300 }, (_, id) => [id, id])

  it("is that of its bytes, which are not parsed for its answer's encoding", () => {
    const { bytes, read, size } = sizeOf("embeddings", { encoding_format: "base64", input })
    assert.strictEqual(size.input, Math.ceil(Math.ceil(bytes / 3) * 1.5))
    assert.notInclude(read, "input")
  })

  it("counts pictures among token ids as pictures", () => {
    const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(90_000)}` } }
    const { size } = sizeOf("embeddings", { encoding_format: "base64", input: [...input, { content: [picture] }] })
    assert.isBelow(size.input, 10_000)
  })
})
