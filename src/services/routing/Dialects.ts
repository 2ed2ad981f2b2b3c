/** How targets accept requests, learned from their refusals. */
import { Duration, Redacted } from "effect"
import type { ChatRequest } from "../../domain/chat/chat.ts"
import { FORM_NAMES, LIMIT_NAMES } from "../../domain/upstream/adaptedMembers.ts"
import { nameOf, type TargetName } from "../../domain/upstream/targets.ts"
import type { LimitMember } from "../../domain/upstream/apis.ts"
import type { OutputLimit, UpstreamError } from "../../domain/upstream/upstream.ts"

export interface Dialect {
  /** Whether the target accepts `response_format`. */
  readonly form: boolean
  /** Whether an output limit goes into the member that is not the usual one for the model. */
  readonly otherLimit: boolean
  /** The largest accepted output limit. */
  readonly longest: number
}

const USUAL: Dialect = { form: true, otherLimit: false, longest: Infinity }

/**
 * OpenAI's models from o1 and GPT-5 on refuse `max_tokens`. All others know it, and many servers, such as DeepSeek's and
 * Ollama, ignore `max_completion_tokens`, so that it would limit nothing.
 */
const REFUSES_OLDER = /(?:^|[/.:])(?:o\d|gpt-(?:[5-9]|\d\d))/i

/** The member for the output limit of a call. */
export const limitMember = ({ otherLimit }: Dialect, { model }: Pick<TargetName, "model">): LimitMember =>
  REFUSES_OLDER.test(model) === otherLimit ? "max_tokens" : "max_completion_tokens"

/** Every current model can answer at this length. Some servers refuse a limit above their longest answer. */
const SAFE_OUTPUT_TOKENS = 4096

/** How long a learned dialect is kept: the server may be updated, or the request was unusual. */
export const LEARNED_FOR = Duration.minutes(10)

/** Times are moments (see `moments.ts`). */
export class Dialects {
  private readonly known = new Map<string, { readonly dialect: Dialect; readonly until: number }>()

  of(target: TargetName | undefined, now: number): Dialect {
    const learned = target && this.known.get(nameOf(target))
    return learned !== undefined && learned.until > now ? learned.dialect : USUAL
  }

  learn(target: TargetName, dialect: Dialect, now: number): void {
    this.known.set(nameOf(target), { dialect, until: now + Duration.toMillis(LEARNED_FOR) })
  }

  /** Dialects to try after a refusal: first each change alone, so that the effective one is known, then all together. */
  others(known: Dialect, hasForm: boolean, limit: number | undefined): ReadonlyArray<Dialect> {
    const plain = { ...known, form: false }
    const other = { ...known, otherLimit: true }
    const shorter = { ...known, longest: SAFE_OUTPUT_TOKENS }
    const changes = [
      ...(hasForm && known.form ? [plain] : []),
      ...(limit !== undefined && !known.otherLimit ? [other] : []),
      ...(limit !== undefined && Math.min(limit, known.longest) > SAFE_OUTPUT_TOKENS ? [shorter] : []),
    ]
    return changes.length < 2 ? changes : [...changes, { ...plain, ...(limit === undefined ? {} : MOST_MODEST) }]
  }
}

const MOST_MODEST = { otherLimit: true, longest: SAFE_OUTPUT_TOKENS } as const

/** Whether a refusal mentions one of `names`. */
const isAbout = (names: RegExp, { detail, said }: UpstreamError): boolean =>
  (detail !== undefined && names.test(Redacted.value(detail))) ||
  (said !== undefined && names.test(JSON.stringify(Redacted.value(said).error)))

/**
 * The dialect to learn after an answer to `tried`, after `refusals` of `known`. It takes over only changes that a
 * refusal names, because a target may refuse a request for any reason. `undefined` if nothing changes.
 */
export const namedIn = (
  refusals: ReadonlyArray<UpstreamError>,
  known: Dialect,
  tried: Dialect,
): Dialect | undefined => {
  const form = refusals.some((refusal) => isAbout(FORM_NAMES, refusal)) ? tried.form : known.form
  const { longest, otherLimit } = refusals.some((refusal) => isAbout(LIMIT_NAMES, refusal)) ? tried : known
  const isNew = form !== known.form || otherLimit !== known.otherLimit || longest !== known.longest
  return isNew ? { form, otherLimit, longest } : undefined
}

/** Applies a dialect to a request; the output limit is added per call. */
export const inDialect = ({ response_format, ...plain }: ChatRequest, { form }: Dialect): ChatRequest =>
  form && response_format !== undefined ? { ...plain, response_format } : plain

export const limitMembers = (
  dialect: Dialect,
  most: number | undefined,
  target: Pick<TargetName, "model">,
): OutputLimit => (most === undefined ? {} : { [limitMember(dialect, target)]: Math.min(most, dialect.longest) })
