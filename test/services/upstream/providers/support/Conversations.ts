/** Generated conversations: what they mean, and how they are put as a Chat Completions request. */
import { Schema } from "effect"
import type { ChatRequest, Message } from "../../../../../src/domain/chat/chat.ts"
import { type Meaning, resultValue, type Said } from "../../../../support/fake-upstream/Meaning.ts"
import { asJson, MemberName } from "./Json.ts"

/** More than whitespace, which Anthropic refuses. */
const Text = Schema.NonEmptyString.check(Schema.isPattern(/\S/))
const Json = Schema.Record(
  MemberName,
  Schema.Union([Schema.String, Schema.Int, Schema.Boolean, Schema.Null, Schema.Array(Schema.Int)]),
)
const Base64 = Schema.Literals(["iVBORw0KGgo=", "/9j/4AAQ", "R0lGODlh"])
const Image = Schema.Union([
  Schema.Struct({ mediaType: Schema.Literals(["image/png", "image/jpeg", "image/webp"]), data: Base64 }),
  Schema.Struct({ url: Schema.Literals(["https://example.com/a.png", "https://example.com/b.jpg?size=2"]) }),
])
const Content = Schema.Array(Schema.Union([Schema.Struct({ text: Text }), Schema.Struct({ image: Image })])).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(3),
)
const TOOLS = ["get_weather", "search-web", "f"] as const
const Call = Schema.Struct({
  name: Schema.Literals(TOOLS),
  args: Json,
  result: Schema.Union([Text, Json]),
  resultImage: Schema.Boolean,
})
const Exchange = Schema.Struct({
  /** The user's text, in one or more consecutive messages. */
  user: Schema.Array(Content).check(Schema.isMinLength(1), Schema.isMaxLength(2)),
  plain: Schema.Boolean,
  /** Rounds of parallel calls, each after some words, whose results come in the order of the calls or against it. */
  rounds: Schema.Array(
    Schema.Struct({
      words: Schema.NullOr(Text),
      calls: Schema.Array(Call).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
      reversed: Schema.Boolean,
    }),
  ).check(Schema.isMaxLength(2)),
  answer: Text,
})

export const Conversation = Schema.Struct({
  system: Schema.Array(Schema.Struct({ role: Schema.Literals(["system", "developer"]), text: Text })).check(
    Schema.isMaxLength(2),
  ),
  exchanges: Schema.Array(Exchange).check(Schema.isMaxLength(3)),
  question: Content,
  withTools: Schema.Boolean,
})
export type Conversation = typeof Conversation.Type

/** The definitions of every tool that calls mention. */
export const DEFINITIONS = TOOLS.map((name) => ({
  name,
  description: `what ${name} does`,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}))

type Image = typeof Image.Type

export const imageUrl = (image: Image): string =>
  "url" in image ? image.url : `data:${image.mediaType};base64,${image.data}`

const resultText = (result: (typeof Call.Type)["result"]): string =>
  typeof result === "string" ? result : JSON.stringify(result)

const RESULT_IMAGE = "data:image/png;base64,iVBORw0KGgo="

/** Features of a request that a model has to understand. */
export const meaningOf = (
  conversation: Conversation,
): Pick<Meaning, "system"> & { readonly said: ReadonlyArray<Said> } => {
  const said: Array<Said> = []
  let calls = 0
  const sayContent = (content: Conversation["question"]) => {
    for (const part of content) {
      said.push("text" in part ? { who: "user", text: part.text } : { who: "user", image: imageUrl(part.image) })
    }
  }
  for (const exchange of conversation.exchanges) {
    for (const content of exchange.user) sayContent(content)
    for (const round of exchange.rounds) {
      if (round.words !== null) said.push({ who: "assistant", text: round.words })
      const first = calls
      for (const call of round.calls) said.push({ call: calls++, name: call.name, args: asJson(call.args) })
      for (const [index, { name, result, resultImage }] of round.calls.entries()) {
        said.push({
          resultOf: first + index,
          name,
          value: resultValue(resultText(result)),
          images: resultImage ? [RESULT_IMAGE] : [],
        })
      }
    }
    said.push({ who: "assistant", text: exchange.answer })
  }
  sayContent(conversation.question)
  return { system: conversation.system.map((message) => message.text), said }
}

export const requestOf = (conversation: Conversation): ChatRequest => {
  const messages: Array<Message> = conversation.system.map(({ role, text }) => ({ role, content: text }))
  let calls = 0
  const say = (content: Conversation["question"], plain: boolean) => {
    const [only, ...others] = content
    messages.push({
      role: "user",
      content:
        plain && only !== undefined && "text" in only && others.length === 0
          ? only.text
          : content.map((part) =>
              "text" in part
                ? { type: "text", text: part.text }
                : { type: "image_url", image_url: { url: imageUrl(part.image), detail: "auto" } },
            ),
    })
  }
  for (const exchange of conversation.exchanges) {
    for (const content of exchange.user) say(content, exchange.plain)
    for (const round of exchange.rounds) {
      const made = round.calls.map((call) => ({ id: `call_${calls++}`, ...call }))
      messages.push({
        role: "assistant",
        content: round.words,
        tool_calls: made.map(({ id, name, args }) => ({
          id,
          type: "function",
          function: { name, arguments: JSON.stringify(args) },
        })),
      })
      for (const call of round.reversed ? made.toReversed() : made) {
        const text = resultText(call.result)
        messages.push({
          role: "tool",
          tool_call_id: call.id,
          content: call.resultImage
            ? [
                { type: "text", text },
                { type: "image_url", image_url: { url: RESULT_IMAGE } },
              ]
            : text,
        })
      }
    }
    messages.push({ role: "assistant", content: exchange.answer })
  }
  say(conversation.question, false)
  return {
    messages,
    ...(conversation.withTools || calls > 0
      ? { tools: DEFINITIONS.map((definition) => ({ type: "function", function: definition })) }
      : {}),
  }
}
