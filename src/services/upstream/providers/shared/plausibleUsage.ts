/** Usage as providers report it, checked before it is priced and summed. */
import { Schema } from "effect"
import { Usage } from "../../../../domain/chat/chat.ts"

const isUsage = Schema.is(Usage)

/** The usage; `undefined` if a count cannot be right. Unknown usage leaves a bill open, wrong usage falsifies it. */
export const plausibleUsage = (usage: Usage): Usage | undefined => (isUsage(usage) ? usage : undefined)
