/**
 * Members that only some Claude models take. A model that is not named here gets them as asked
 * (https://platform.claude.com/docs/en/about-claude/models/migration-guide).
 */
import type { ChatRequest } from "../../../../domain/chat/chat.ts"
import type { Unsupported } from "../shared/Unsupported.ts"

// Each pattern matches its versions with or without a date, but no later ones.

/**
 * Models that refuse sampling parameters; Opus 4.8 refuses even a `top_p` of 1
 * (https://github.com/mnfst/modelparams.dev/pull/238).
 */
const SAMPLES_ALONE =
  /\bclaude-(?:opus-4-[78]|opus-5(-5)?|sonnet-5(-5)?|haiku-5-5|(fable|mythos)-5(-1)?)(?!\d|-\d{1,2}\b)/
const TAKES_ONE_OF_BOTH = /\bclaude-(?:opus-4-[156]|sonnet-4-[56]|haiku-4-5)(?!\d|-\d{1,2}\b)/

const CHOOSES_TOOLS = /\bclaude-(?:opus-5-5|sonnet-5-5|(fable|mythos)-5-1)(?!\d|-\d{1,2}\b)/

const THINKS_ALWAYS = /\bclaude-(?:opus-5-5|(fable|mythos)-5(-1)?)(?!\d|-\d{1,2}\b)/
const THINKS_BETWEEN_TOOLS = /\bclaude-sonnet-5-5(?!\d|-\d{1,2}\b)/

/** https://platform.claude.com/docs/en/build-with-claude/effort */
const TAKES_NO_EFFORT =
  /\bclaude-(?:3(-[57])?-(opus|sonnet|haiku)|(opus|sonnet)-4(-0)?|opus-4-1|(sonnet|haiku)-4-5)(?!\d|-\d{1,2}\b)/
const EFFORT_UP_TO_HIGH = /\bclaude-opus-4-5(?!\d|-\d{1,2}\b)/
const EFFORT_WITHOUT_XHIGH = /\bclaude-(opus|sonnet)-4-6(?!\d|-\d{1,2}\b)/

/** A `temperature` or `top_p` of 1 changes nothing, so models that refuse them get none. */
export const toSampling = (
  { temperature, top_p, ...request }: ChatRequest,
  model: string,
  unsupported: Unsupported,
) => {
  const top_k = unsupported.number(request, "top_k")
  // OpenAI's scale ends at 2, this one at 1 (https://docs.anthropic.com/en/api/messages#body-temperature).
  if (temperature != null && (temperature < 0 || temperature > 1)) {
    unsupported.add("temperature", "this provider takes 0 to 1")
  }
  const samplesAlone = SAMPLES_ALONE.test(model)
  if (!samplesAlone && !TAKES_ONE_OF_BOTH.test(model)) return { temperature, top_p, top_k }
  const asked = { temperature: unlessOne(temperature), top_p: unlessOne(top_p), top_k }
  if (!samplesAlone) {
    if (asked.temperature != null && asked.top_p != null) {
      unsupported.add("top_p", "this model takes it only without temperature")
    }
    return asked
  }
  for (const [member, value] of Object.entries(asked)) {
    if (value != null) unsupported.add(member, "this model takes no sampling parameters")
  }
  return {}
}

const unlessOne = (value: number | null | undefined) => (value === 1 ? undefined : value)

export const canBeForced = (model: string): boolean => !CHOOSES_TOOLS.test(model)

/** The levels of OpenAI's scale; `none` means no thinking at all, which another member of the request expresses. */
const EFFORTS = new Map<unknown, string>([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "max"],
])

/** The members for OpenAI's `reasoning_effort`. A level beyond the model's scale becomes the highest below it. */
export const toThinking = (level: unknown, model: string, unsupported: Unsupported): Thinking => {
  const refuse = (why: string) => {
    unsupported.add("reasoning_effort", why)
    return {}
  }
  if (level == null) return {}
  if (level === "none") {
    if (THINKS_ALWAYS.test(model)) return refuse("this model always thinks; low is the least")
    return { thinking: { type: THINKS_BETWEEN_TOOLS.test(model) ? "between_tools" : "disabled" } }
  }
  const effort = EFFORTS.get(level)
  if (effort === undefined) return refuse("not a level that is known here")
  if (TAKES_NO_EFFORT.test(model)) return refuse("this model takes no level; none turns thinking off")
  const isBeyond =
    (effort === "xhigh" && (EFFORT_UP_TO_HIGH.test(model) || EFFORT_WITHOUT_XHIGH.test(model))) ||
    (effort === "max" && EFFORT_UP_TO_HIGH.test(model))
  return { effort: isBeyond ? "high" : effort }
}

interface Thinking {
  readonly effort?: string
  readonly thinking?: { readonly type: string }
}
