/**
 * What the turns of one conversation have in common, whatever their API: a name that the caller gave it, or how it begins.
 * Providers cache what requests begin with, so a turn is cheapest and soonest answered where the one before it was.
 */
import { Predicate } from "effect"

/** By what a conversation is known. What is equal is one conversation; nothing else can be told from the text. */
interface ConversationName {
  /** Said by the caller, or read from the request itself. */
  readonly by: "prompt_cache_key" | "metadata.user_id" | "opening"
  readonly text: string
}

/** Who speaks before the model does. */
const ASKING: ReadonlySet<unknown> = new Set(["system", "developer", "user"])

const isAsking = (item: unknown): boolean => Predicate.hasProperty(item, "role") && ASKING.has(item.role)

/** The messages before the first of the model: the same in every turn. */
const beforeAnswers = (items: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const answered = items.findIndex((item) => !isAsking(item))
  return answered === -1 ? items : items.slice(0, answered)
}

/** A piece of content in one spelling: clients write a text as such in one turn and as a part in the next. */
const spelled = (part: unknown): unknown =>
  Predicate.hasProperty(part, "text") && Predicate.isString(part.text) ? part.text : part

const contentOf = (content: unknown): unknown => (Array.isArray(content) ? content.map(spelled) : [content])

const messageOf = (message: unknown): unknown =>
  Predicate.hasProperty(message, "role") && Predicate.hasProperty(message, "content")
    ? [message.role, contentOf(message.content)]
    : message

/** The input of a response: a text is a message by itself. */
const itemsOf = (input: unknown): unknown => (Predicate.isString(input) ? [{ role: "user", content: input }] : input)

/** Marks of what to cache move from turn to turn. */
const withoutMarks = (name: string, value: unknown): unknown => (name === "cache_control" ? undefined : value)

const isName = (value: unknown): value is string => Predicate.isString(value) && value !== ""

/**
 * The name of the conversation that a request is a turn of: `prompt_cache_key`, else `metadata.user_id`, else its opening:
 * instructions, tools, and the messages before the model's first. `undefined` if it has none of them.
 *
 * `member` gives a member of a request of Chat Completions, Messages or Responses, and no more than is needed is asked for.
 * Of a request that is none of them any name may come.
 */
export const conversationName = (member: (name: string) => unknown): ConversationName | undefined => {
  const key = member("prompt_cache_key")
  if (isName(key)) return { by: "prompt_cache_key", text: key }
  const metadata = member("metadata")
  if (Predicate.hasProperty(metadata, "user_id") && isName(metadata.user_id)) {
    return { by: "metadata.user_id", text: metadata.user_id }
  }
  const items = member("messages") ?? itemsOf(member("input"))
  if (!Array.isArray(items)) return undefined
  const opening = beforeAnswers(items)
  if (opening.length === 0) return undefined
  const before = [contentOf(member("system")), ...["instructions", "tools", "functions"].map(member)]
  return { by: "opening", text: JSON.stringify([...before, opening.map(messageOf)], withoutMarks) }
}

/** The response that a request of Responses goes on from, which is known only where it was made. */
export const previousResponse = (member: (name: string) => unknown): string | undefined => {
  const id = member("previous_response_id")
  return isName(id) ? id : undefined
}

/** Whether the provider keeps the answer to a request of Responses, so that others can go on from it. */
export const keepsResponse = (member: (name: string) => unknown): boolean => member("store") !== false
