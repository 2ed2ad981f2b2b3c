import { assert, it } from "@effect/vitest"
import * as fc from "fast-check"
import { CallbackList } from "../../../src/services/lifecycle/CallbackList.ts"

it("calls each callback that was not removed once, in the order of addition", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constant("add"), fc.constant("call all"), fc.nat({ max: 9 }))), (acts) => {
      const list = new CallbackList()
      const called: Array<number> = []
      const expected: Array<number> = []
      const removers: Array<() => void> = []
      let present: Array<number> = []
      const callAll = () => {
        list.callAll()
        expected.push(...present.splice(0))
      }
      for (const act of acts) {
        if (act === "call all") callAll()
        else if (act === "add") {
          const id = removers.length
          present.push(id)
          removers.push(list.add(() => called.push(id)))
        } else {
          // May remove one that was removed or called before.
          removers[act]?.()
          present = present.filter((id) => id !== act)
        }
      }
      callAll()
      assert.deepStrictEqual(called, expected)
    }),
  )
})

it("does not call a callback that an earlier one removed", () => {
  const list = new CallbackList()
  const called: Array<string> = []
  list.add(() => {
    called.push("first")
    removeSecond()
  })
  const removeSecond = list.add(() => called.push("second"))
  list.add(() => called.push("third"))
  list.callAll()
  assert.deepStrictEqual(called, ["first", "third"])
})
