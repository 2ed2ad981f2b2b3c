import type { JsonObject } from "../../../../domain/json/json.ts"
import { objectIn } from "../../../../domain/json/objectIn.ts"

const MAX_KIB = 256
const LIMITS = { depth: 64, values: 4096 }

/** Says which arguments {@link argumentsIn} reads. */
export const ARGUMENTS = `a JSON object of at most ${MAX_KIB} KiB, ${LIMITS.depth} levels and ${LIMITS.values} values`

/** The arguments of a tool call, as a model wrote them; `undefined` if no tool gets them. */
export const argumentsIn = (text: string): JsonObject | undefined =>
  text.length > MAX_KIB * 1024 ? undefined : objectIn(text.trim() || "{}", LIMITS)
