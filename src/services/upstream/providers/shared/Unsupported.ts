/**
 * Collects the parts of a request that a provider's format cannot express. Nothing is dropped silently: the refusal
 * names all of them.
 */
import { Redacted } from "effect"
import { ProviderFailure } from "../../Provider.ts"
import type { MemberRule, MemberRules, NeutralValues } from "./MemberRules.ts"

export class Unsupported {
  private readonly found: Array<string> = []

  /** Notes that the member at `path` cannot be expressed, and why. */
  add(path: string, why: string): void {
    this.found.push(`${path}: ${why}`)
  }

  check(value: object, rules: MemberRules, path = ""): void {
    for (const [name, member] of Object.entries(value)) {
      if (member == null) continue
      const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
      if (rule === "translated" || rule === "advisory") continue
      const at = path === "" ? name : `${path}.${name}`
      if (rule === undefined) this.add(at, REPLACED_BY_TOOLS.has(name) ? "send tools instead" : NOTHING_LIKE_IT)
      else if (!isValues(rule)) {
        if (typeof member === "object") this.check(member, rule, at)
      } else if (!isNeutral(member, rule)) this.add(at, NOTHING_LIKE_IT)
    }
  }

  /** Returns the number in the member `name` of `value`, for members without a type. */
  number(value: Readonly<Record<string, unknown>>, name: string): number | undefined {
    const member = value[name]
    if (typeof member === "number") return member
    if (member != null) this.add(name, "not a number")
    return undefined
  }

  /** The failure that names all findings, if there are any. */
  get failure(): ProviderFailure | undefined {
    return this.found.length === 0
      ? undefined
      : new ProviderFailure({ kind: "unsupported", detail: Redacted.make(this.found.join("; ")) })
  }
}

const NOTHING_LIKE_IT = "this provider has nothing like it"

/** OpenAI's members from before tools. Only OpenAI-compatible providers get them. */
const REPLACED_BY_TOOLS: ReadonlySet<string> = new Set(["functions", "function_call"])

const isValues = (rule: MemberRule): rule is NeutralValues => Array.isArray(rule)

const isNeutral = (member: unknown, values: ReadonlyArray<unknown>): boolean => {
  if (Array.isArray(member)) return member.every((item) => values.includes(item))
  return typeof member === "object" && member !== null ? Object.keys(member).length === 0 : values.includes(member)
}
