import { assert, describe, it } from "@effect/vitest"
import { Context } from "effect"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { StreamFrames } from "../../../src/services/sealing/StreamFrames.ts"
import { keptBy } from "../../support/garbage.ts"
import { openedOf } from "../../support/protocol/Sealing.ts"

const framesAt = (pace: number) =>
  new StreamFrames(openedOf(utf8("{}")).sealer, { api: "chat.completions", pace }, Context.empty())

const chunk = (content: string): JsonObject => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
})
const delta = (content: string) => ({ _tag: "Delta", provider: "provider1", chunk: chunk(content) }) as const

describe("the frames of a stream", () => {
  it.each([100, 0])("let the provider be read as long as they are taken, at pace %s", (pace) => {
    const frames = framesAt(pace)
    let sealed = 0
    // Several times what may wait.
    for (let n = 0; n < 6000; n++) {
      frames.add(delta("x".repeat(500)))
      if (frames.isPaced) frames.tick()
      if (frames.isPaced) frames.tick()
      for (let next = frames.next(); next.length > 0; next = frames.next()) sealed += next.length
      assert.isTrue(frames.hasRoom, `after ${sealed} frames`)
    }
  })

  it("take no memory for ticks at which nothing waited, however many the reader leaves due", async () => {
    const frames = framesAt(20)
    const kept = await keptBy(() => {
      for (let n = 0; n < 1_000_000; n++) frames.tick()
    })
    // Less than a pointer for each tick.
    assert.isBelow(kept, 4_000_000)
    assert.isTrue(frames.hasRoom)
  })

  it("make the provider wait when small frames take more memory than their payloads have bytes", () => {
    const frames = framesAt(20)
    let ticks = 0
    for (; frames.hasRoom; ticks += 2) {
      frames.add(delta("x"))
      frames.tick()
      frames.tick()
    }
    assert.isBelow(ticks, 3000)
  })

  it("are sealed in small numbers, also those that are due at a shutdown", () => {
    const frames = framesAt(20)
    frames.add(delta("x"))
    for (let n = 0; n < 30_000; n++) frames.tick()
    frames.stop()
    frames.tick()
    const sizes = new Set<number>()
    let sealed = 0
    for (let next = frames.next(); next.length > 0; next = frames.next()) {
      assert.isAtMost(next.length, 64)
      for (const event of next) if (event._tag === "Frame") sizes.add(event.ciphertext.length)
      sealed += next.length
      assert.strictEqual(frames.isFinalNext, sealed === 30_001)
    }
    assert.strictEqual(sealed, 30_001)
    assert.deepStrictEqual([...sizes], [1024 + 16])
  })
})
