/** How targets want to be asked, learned from what they refuse. */
import type { ChatRequest } from "../../domain/chat.ts"
import type { TargetName } from "../../domain/targets.ts"

export interface Dialect {
  /** Whether it takes `response_format`. */
  readonly form: boolean
  /** The member for an output limit: some servers know only the older one. */
  readonly limit: "max_completion_tokens" | "max_tokens"
  /** The largest output limit that it takes. */
  readonly longest: number
}

const USUAL: Dialect = { form: true, limit: "max_completion_tokens", longest: Infinity }
/** Every model in use gives answers this long, and some refuse a limit above their longest answer. */
const SAFE_OUTPUT_TOKENS = 4096

export class Dialects {
  private readonly known = new Map<string, Dialect>()

  of(target: TargetName | undefined): Dialect {
    return (target && this.known.get(nameOf(target))) ?? USUAL
  }

  learn(target: TargetName, dialect: Dialect): void {
    this.known.set(nameOf(target), dialect)
  }

  /** What to try after a refusal: one change at a time, so that the one that helps is known, and at last all of them. */
  others(known: Dialect, hasForm: boolean, limit: number | undefined): ReadonlyArray<Dialect> {
    const plain = { ...known, form: false }
    const older = { ...known, limit: "max_tokens" as const }
    const shorter = { ...known, longest: SAFE_OUTPUT_TOKENS }
    const changes = [
      ...(hasForm && known.form ? [plain] : []),
      ...(limit !== undefined && known.limit !== older.limit ? [older] : []),
      ...(limit !== undefined && Math.min(limit, known.longest) > SAFE_OUTPUT_TOKENS ? [shorter] : []),
    ]
    return changes.length < 2 ? changes : [...changes, { ...plain, ...(limit === undefined ? {} : MOST_MODEST) }]
  }
}

const MOST_MODEST = { limit: "max_tokens", longest: SAFE_OUTPUT_TOKENS } as const

/** A request as a dialect has it; its output limit is added for each call. */
export const inDialect = ({ response_format, ...plain }: ChatRequest, { form }: Dialect): ChatRequest =>
  form && response_format !== undefined ? { ...plain, response_format } : plain

export const limitMembers = ({ limit, longest }: Dialect, most: number | undefined): Partial<ChatRequest> =>
  most === undefined ? {} : { [limit]: Math.min(most, longest) }

export const nameOf = ({ model, provider }: TargetName): string => `${provider}/${model}`
