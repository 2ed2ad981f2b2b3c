import { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { makeAnswerMemory } from "../../../src/server/connections/AnswerMemory.ts"
import { collectGarbage } from "../../support/garbage.ts"

/** A connection on which this many bytes wait. */
const behind = (bytes: number) => Object.defineProperty(new Socket(), "writableLength", { value: bytes })

describe("the memory of unread answers", () => {
  it("refers to no connection that has closed, read or not", async () => {
    const memory = makeAnswerMemory(1_000_000)
    const sockets = Array.from({ length: 100 }, () => {
      const socket = behind(100)
      const response = new ServerResponse(new IncomingMessage(socket))
      memory.watch(socket, response)
      response.emit("prefinish")
      memory.update([socket])
      socket.destroy()
      response.emit("close")
      return new WeakRef(socket)
    })
    await collectGarbage()
    await collectGarbage()
    memory.update([])
    // The last one may still be on the stack.
    assert.isAtMost(sockets.filter((socket) => socket.deref() !== undefined).length, 1)
  })
})
