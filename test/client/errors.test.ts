import { assert, describe, it } from "@effect/vitest"
import { rolldown } from "rolldown"

describe("errors of the client", () => {
  it("keep their names in an application whose bundler shortens those of classes", async () => {
    const input = new URL("../../src/client/errors.ts", import.meta.url).pathname
    const bundle = await rolldown({ input, platform: "node", logLevel: "silent" })
    const { output } = await bundle.generate({ format: "esm", minify: true })
    await bundle.close()
    const { SealgateError, ...errors } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)
    assert.notStrictEqual(SealgateError.name, "SealgateError")
    assert.isAbove(Object.keys(errors).length, 5)
    for (const [name, Class] of Object.entries<typeof Error>(errors)) {
      // Enough members to construct any error.
      const about = { title: "", detail: "", status: 0, length: 1, find: () => "", join: () => "", receipt: {} }
      assert.strictEqual(Reflect.construct(Class, [about, about, about, about]).name, name)
    }
  })
})
