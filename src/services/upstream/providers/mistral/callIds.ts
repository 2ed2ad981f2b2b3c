/** Ids of tool calls: Mistral refuses any but 9 letters and digits, so others get a digest in their place. */
import { createHash } from "node:crypto"
import type { Bytes } from "../../../../domain/bytes/bytes.ts"
import { changedHolders } from "../shared/changedHolders.ts"

const LENGTH = 9
const TAKEN = /^[a-zA-Z0-9]{9}$/

const isForeign = (id: unknown): id is string => typeof id === "string" && !TAKEN.test(id)

const digestOf = (id: string): string =>
  createHash("sha256").update(id).digest("base64url").replaceAll(/[-_]/g, "").slice(0, LENGTH)

/** Whether a request's text may hold ids of tool calls. Misses names that are written with escapes, which no client does. */
export const mayHoldCallIds = ({ buffer, byteOffset, length }: Bytes): boolean =>
  Buffer.from(buffer, byteOffset, length).includes('"tool_call')

/** Replaces ids in calls and results alike. */
export const withCallIds = (messages: unknown): unknown =>
  changedHolders(messages, (holder, message) => {
    const name = holder === message ? "tool_call_id" : "id"
    const id = holder[name]
    return isForeign(id) ? { ...holder, [name]: digestOf(id) } : holder
  })
