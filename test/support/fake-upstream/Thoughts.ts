/** Thoughts beside tool calls. Their model demands them back, as DeepSeek and Kimi do; others refuse them, as Groq does. */
import assert from "node:assert/strict"
import { Schema } from "effect"
import type { FullAnswer } from "./FullAnswer.ts"

const decode = Schema.decodeUnknownSync(
  Schema.Struct({
    messages: Schema.Array(
      Schema.Struct({
        tool_calls: Schema.optionalKey(Schema.Array(Schema.Struct({ id: Schema.String }))),
        reasoning_content: Schema.optionalKey(Schema.Unknown),
      }),
    ),
  }),
)

export class Thoughts {
  /** By model and id of a call. */
  private readonly known = new Map<string, string>()

  keep({ choices }: FullAnswer, model: string): void {
    for (const { calls, thoughts } of choices) {
      if (thoughts !== undefined) for (const { id } of calls) this.known.set(`${model} ${id}`, thoughts)
    }
  }

  /** Throws why the vendor would refuse a request. */
  check(body: unknown, model: string): void {
    for (const { reasoning_content: sent, tool_calls: calls = [] } of decode(body).messages) {
      const [own] = calls.flatMap(({ id }) => this.known.get(`${model} ${id}`) ?? [])
      if (own === undefined) assert.equal(sent, undefined, "property 'reasoning_content' is unsupported")
      else assert.equal(sent, own, "The `reasoning_content` in the thinking mode must be passed back to the API.")
    }
  }
}
