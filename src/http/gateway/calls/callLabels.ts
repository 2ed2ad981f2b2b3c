/** The labels of a vendor's request: its `metadata`, as far as it has the form of labels. */
import { Option, Record, Schema } from "effect"
import type { RawObject } from "../../../domain/json/rawObject.ts"
import { Labels, labelsOf } from "../../../domain/routing/labels.ts"
import { CHAT_COMPLETIONS } from "../../../domain/upstream/apis.ts"
import type { ApiRequest } from "../../../domain/upstream/upstream.ts"

const METADATA = "metadata"
/** Longer metadata is not parsed for labels. */
const MAX_BYTES = 32 * 1024

const decode = Schema.decodeUnknownOption(Labels)

export const labelsIn = (body: RawObject): Labels =>
  Option.match(body.lengthOf(METADATA) > MAX_BYTES ? Option.none() : decode(body.value(METADATA)), {
    onNone: () => ({}),
    onSome: labelsOf,
  })

/**
 * Takes the labels out of a request if its vendor would refuse it because of them. OpenAI accepts metadata in Responses
 * and in stored chats, Anthropic only the id of a user.
 */
export const takeLabels = ({ api, body }: Pick<ApiRequest, "api" | "body">): Labels => {
  const labels = labelsIn(body)
  const isTaken = api === "responses" || (api === CHAT_COMPLETIONS && body.value("store") === true)
  if (isTaken || Record.isEmptyRecord(labels)) return labels
  const { user_id } = api === "messages" ? Object(body.value(METADATA)) : {}
  body.blank(METADATA, user_id === undefined ? "" : JSON.stringify({ user_id }))
  return labels
}
