/** A form for the answer to a question: one field per member, if the members of its schema are simple. */
import { isObject } from "../../../domain/json/json.ts"

interface AnswerField {
  readonly name: string
  readonly kind: "text" | "number" | "integer" | "choice"
  readonly choices: ReadonlyArray<readonly [text: string, value: unknown]>
  readonly hint: string
  readonly required: boolean
}

const YES_OR_NO = [
  ["yes", true],
  ["no", false],
] as const

const kindOf = ({
  enum: values,
  type,
}: Readonly<Record<string, unknown>>): Pick<AnswerField, "kind" | "choices"> | undefined => {
  if (Array.isArray(values)) {
    const isSimple = values.every((value) => typeof value === "string" || typeof value === "number")
    return isSimple ? { kind: "choice", choices: values.map((value) => [String(value), value]) } : undefined
  }
  if (type === "boolean") return { kind: "choice", choices: YES_OR_NO }
  if (type === "string") return { kind: "text", choices: [] }
  return type === "number" || type === "integer" ? { kind: type, choices: [] } : undefined
}

/** The fields for an answer that fits `schema`; `undefined` if the answer must be written as JSON. */
export const fieldsOf = (schema: Readonly<Record<string, unknown>>): ReadonlyArray<AnswerField> | undefined => {
  const { properties, required } = schema
  if (!isObject(properties)) return undefined
  const needed: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  if (!needed.every((name) => typeof name === "string" && Object.hasOwn(properties, name))) return undefined
  const fields = Object.entries(properties).map(([name, member]): AnswerField | undefined => {
    const kind = isObject(member) ? kindOf(member) : undefined
    if (!isObject(member) || kind === undefined) return undefined
    const { description } = member
    return { name, ...kind, hint: typeof description === "string" ? description : "", required: needed.includes(name) }
  })
  return fields.length > 0 && fields.every((field) => field !== undefined) ? fields : undefined
}

/** The value of one field, or what is wrong with its text. */
const valueIn = ({ choices, kind }: AnswerField, text: string): { readonly value: unknown } | string => {
  if (kind === "text") return { value: text }
  if (kind === "choice") return { value: choices.find(([choice]) => choice === text)?.[1] }
  const number = Number(text)
  if (text.trim() === "" || !Number.isFinite(number)) return "Enter a number, with a point for decimals."
  return kind === "integer" && !Number.isInteger(number) ? "Enter a whole number." : { value: number }
}

/** The answer with the texts of the fields, by name; or mistakes by name. Empty optional fields are left out. */
export const answerOf = (
  fields: ReadonlyArray<AnswerField>,
  texts: ReadonlyMap<string, string>,
):
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly mistakes: ReadonlyMap<string, string> } => {
  const mistakes = new Map<string, string>()
  const members = fields.flatMap((field): ReadonlyArray<readonly [string, unknown]> => {
    const text = texts.get(field.name) ?? ""
    if (text === "" && (!field.required || field.kind !== "text")) {
      if (field.required) mistakes.set(field.name, field.kind === "choice" ? "Choose one." : "Enter a number.")
      return []
    }
    const read = valueIn(field, text)
    if (typeof read === "string") mistakes.set(field.name, read)
    return typeof read === "string" ? [] : [[field.name, read.value]]
  })
  return mistakes.size > 0 ? { ok: false, mistakes } : { ok: true, value: Object.fromEntries(members) }
}
