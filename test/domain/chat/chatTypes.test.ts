import { assert, it } from "@effect/vitest"
import type * as Chat from "../../../src/domain/chat/chat.ts"
import type * as Types from "../../../src/domain/chat/chatTypes.ts"
import type { Problem } from "../../../src/domain/problems/problem.ts"
import type { Problem as PlainProblem } from "../../../src/domain/problems/problemTypes.ts"

/** `true` if both types are assignable to each other, optional members included. Otherwise the `true` below does not compile. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? ([keyof A] extends [keyof B] ? true : never) : never) : never

const same: {
  readonly input: Same<typeof Chat.ChatInput.Type, Types.ChatInput>
  readonly request: Same<typeof Chat.ChatRequest.Type, Types.ChatRequest>
  readonly message: Same<typeof Chat.Message.Type, Types.Message>
  readonly completion: Same<typeof Chat.ChatCompletion.Type, Types.ChatCompletion>
  readonly chunk: Same<typeof Chat.ChatChunk.Type, Types.ChatChunk>
  readonly tool: Same<typeof Chat.Tool.Type, Types.Tool>
  readonly usage: Same<typeof Chat.Usage.Type, Types.Usage>
  readonly problem: Same<typeof Problem.Type, PlainProblem>
} = {
  input: true,
  request: true,
  message: true,
  completion: true,
  chunk: true,
  tool: true,
  usage: true,
  problem: true,
}

it("the plain types equal the types of the schemas", () => assert.isTrue(Object.values(same).every(Boolean)))
