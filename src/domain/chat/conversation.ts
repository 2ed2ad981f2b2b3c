/** Identifies a request's conversation, in any API: the target of the previous turn has its prefix in the cache. */
import { Predicate } from "effect"

/** Name of a conversation. Only equality matters; `text` is opaque. */
interface ConversationName {
  /** The source of the name: a member set by the caller, or the opening. */
  readonly by: "prompt_cache_key" | "metadata.user_id" | "opening"
  readonly text: string
}

/** Roles that speak before the model. */
const ASKING: ReadonlySet<unknown> = new Set(["system", "developer", "user"])

const isAsking = (item: unknown): boolean => Predicate.hasProperty(item, "role") && ASKING.has(item.role)

/** The messages before the model's first, which are the same in every turn. */
const beforeAnswers = (items: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const answered = items.findIndex((item) => !isAsking(item))
  return answered === -1 ? items : items.slice(0, answered)
}

/** Content in one form: clients send a text as a string in one turn and as a part in the next. */
const spelled = (part: unknown): unknown =>
  Predicate.hasProperty(part, "text") && Predicate.isString(part.text) ? part.text : part

const contentOf = (content: unknown): unknown => (Array.isArray(content) ? content.map(spelled) : [content])

const messageOf = (message: unknown): unknown =>
  Predicate.hasProperty(message, "role") && Predicate.hasProperty(message, "content")
    ? [message.role, contentOf(message.content)]
    : message

/** The input items of a response; a string is one user message. */
const itemsOf = (input: unknown): unknown => (Predicate.isString(input) ? [{ role: "user", content: input }] : input)

/** Removes cache marks, which move from turn to turn. */
const withoutMarks = (name: string, value: unknown): unknown => (name === "cache_control" ? undefined : value)

const isName = (value: unknown): value is string => Predicate.isString(value) && value !== ""

/**
 * The name of a request's conversation: `prompt_cache_key`, else `metadata.user_id`, else its opening, which is instructions,
 * tools and the messages before the model's first. `undefined` if it has none of them.
 *
 * `member` returns a member of a request of Chat Completions, Messages or Responses, and is called only for members that are
 * needed. For other requests, the result is arbitrary.
 */
export const conversationName = (member: (name: string) => unknown): ConversationName | undefined => {
  const key = member("prompt_cache_key")
  if (isName(key)) return { by: "prompt_cache_key", text: key }
  const metadata = member("metadata")
  if (Predicate.hasProperty(metadata, "user_id") && isName(metadata.user_id)) {
    return { by: "metadata.user_id", text: metadata.user_id }
  }
  return openingName(member)
}

/** The name of a request's conversation by its opening alone, which also tells conversations of one key or user apart. */
export const openingName = (member: (name: string) => unknown): ConversationName | undefined => {
  const items = member("messages") ?? itemsOf(member("input"))
  if (!Array.isArray(items)) return undefined
  const opening = beforeAnswers(items)
  if (opening.length === 0) return undefined
  const before = [contentOf(member("system")), ...["instructions", "tools", "functions"].map(member)]
  return { by: "opening", text: JSON.stringify([...before, opening.map(messageOf)], withoutMarks) }
}

/** The response that a Responses request continues. Only the target that made it knows it. */
export const previousResponse = (member: (name: string) => unknown): string | undefined => {
  const id = member("previous_response_id")
  return isName(id) ? id : undefined
}

/** Whether the provider stores the answer to a Responses request, so that others can continue from it. */
export const keepsResponse = (member: (name: string) => unknown): boolean => member("store") !== false
