/** Tells a sender why its value does not fit its schema; for a union, by the form it most likely meant. */
import { Array as Arr, Order, SchemaAST, SchemaIssue } from "effect"
import type { ProblemIssue } from "../problems/problemTypes.ts"

type Issue = SchemaIssue.Issue

/** Issues reported at most; a body of a megabyte can have thousands. */
const MAX_MISFITS = 64

/** With more names, a message would hide the mistake. */
const MAX_NAMES = 16

/** Names the members that exist, because most unknown ones are misspelt. */
const unexpected = (ast: SchemaAST.AST): string => {
  const names = SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []
  return names.length === 0 || names.length > MAX_NAMES
    ? "There is no such member"
    : `There is no such member; possible are ${names.toSorted().join(", ")}`
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "UnexpectedKey" ? unexpected(issue.ast) : SchemaIssue.defaultLeafHook(issue)),
})

/** The first issues, with paths below `root`. */
export const schemaIssues = (issue: Issue, root: ReadonlyArray<string> = []): ReadonlyArray<ProblemIssue> =>
  format(narrowed(issue))
    .issues.slice(0, MAX_MISFITS)
    .map(({ message, path = [] }) => ({
      path: [...root, ...path].map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
      message,
    }))

/** The issue with each union reduced to the form that was meant. */
const narrowed = (issue: Issue): Issue => {
  switch (issue._tag) {
    case "Composite":
      return new SchemaIssue.Composite(issue.ast, Arr.map(issue.issues, narrowed))
    case "Pointer":
      return new SchemaIssue.Pointer(issue.path, narrowed(issue.issue))
    case "Encoding":
      return new SchemaIssue.Encoding(issue.ast, narrowed(issue.issue))
    case "Filter":
      return new SchemaIssue.Filter(issue.filter, narrowed(issue.issue))
    case "AnyOf":
      return Arr.isReadonlyArrayNonEmpty(issue.issues)
        ? meant(issue.ast, Arr.map(issue.issues, narrowed))
        : withoutForm(issue)
    default:
      return issue
  }
}

/** The member whose literal discriminates a union, such as `role` of messages and `type` of content parts. */
interface Tag {
  readonly key: PropertyKey
  /** The literals of all forms. */
  readonly values: ReadonlyArray<SchemaAST.LiteralValue>
}

const literalsOf = (ast: SchemaAST.AST | undefined): ReadonlyArray<SchemaAST.LiteralValue> | undefined => {
  if (ast === undefined) return undefined
  if (SchemaAST.isLiteral(ast)) return [ast.literal]
  return SchemaAST.isUnion(ast) && ast.types.every(SchemaAST.isLiteral)
    ? ast.types.map(({ literal }) => literal)
    : undefined
}

const literalsAt = (ast: SchemaAST.AST | undefined, key: PropertyKey) =>
  ast !== undefined && SchemaAST.isObjects(ast)
    ? literalsOf(ast.propertySignatures.find(({ name }) => name === key)?.type)
    : undefined

const tagOf = (union: SchemaAST.Union): Tag | undefined => {
  const keys = union.types
    .filter(SchemaAST.isObjects)
    .flatMap((form) => form.propertySignatures.map(({ name }) => name))
  for (const key of new Set(keys)) {
    const sets = union.types.map((form) => literalsAt(form, key)).filter((set) => set !== undefined)
    const values = sets.flat()
    // As in the parser, a single literal selects the only form.
    const discriminates = sets.length > 1 || (union.types.length === 1 && values.length === 1)
    if (discriminates && new Set(values).size === values.length) return { key, values }
  }
  return undefined
}

/** An issue about the value of the discriminating member. */
const wrongTag = (tag: Tag): Issue => {
  const expected = tag.values.map((value) => (typeof value === "string" ? JSON.stringify(value) : String(value)))
  const wrong = new SchemaIssue.InvalidValue({ message: `Expected ${expected.join(" | ")}` })
  return new SchemaIssue.Pointer([tag.key], wrong)
}

/** The issue of a value that is of no form, because its discriminating member is missing or wrong. */
const withoutForm = (issue: SchemaIssue.AnyOf): Issue => {
  const tag = tagOf(issue.ast)
  return tag === undefined ? issue : wrongTag(tag)
}

/** The issues of a form: one per member, or one for the whole value. */
const own = (form: Issue): ReadonlyArray<Issue> => {
  if (form._tag === "Composite") return form.issues
  return form._tag === "Filter" || form._tag === "Encoding" ? own(form.issue) : [form]
}

const astOf = (form: Issue): SchemaAST.AST | undefined => {
  if (form._tag === "Composite") return form.ast
  return form._tag === "Filter" || form._tag === "Encoding" ? astOf(form.issue) : undefined
}

const isAt = (key: PropertyKey) => (issue: Issue) => issue._tag === "Pointer" && issue.path[0] === key

/** The issue of the form that was meant, or an issue about the discriminating member. */
const meant = (union: SchemaAST.Union, forms: Arr.NonEmptyReadonlyArray<Issue>): Issue => {
  const tag = tagOf(union)
  if (tag === undefined) return closest(forms)
  const { key } = tag
  const hasTag = (form: Issue) => literalsAt(astOf(form), key) !== undefined
  const named = forms.filter((form) => hasTag(form) && !own(form).some(isAt(key)))
  if (Arr.isReadonlyArrayNonEmpty(named)) return closest(named)
  const untagged = forms.filter((form) => !hasTag(form))
  if (Arr.isReadonlyArrayNonEmpty(untagged)) return closest(untagged)
  const missing = own(forms[0]).find((issue) => isAt(key)(issue) && isOf(issue, "MissingKey"))
  return missing ?? wrongTag(tag)
}

const isOf = (issue: Issue, kind: "MissingKey" | "UnexpectedKey"): boolean =>
  issue._tag === "Pointer" && issue.issue._tag === kind

/** Whether an issue suggests that another form was meant, rather than that one member has a wrong value. */
const isForeign = (issue: Issue): boolean =>
  issue._tag !== "Pointer" ||
  isOf(issue, "MissingKey") ||
  isOf(issue, "UnexpectedKey") ||
  (issue.issue._tag === "InvalidType" && SchemaAST.isNever(issue.issue.ast))

const countOf = (issue: Issue): number => {
  switch (issue._tag) {
    case "Composite":
    case "AnyOf":
      return Math.max(
        1,
        Arr.reduce(issue.issues, 0, (sum, issue) => sum + countOf(issue)),
      )
    case "Pointer":
    case "Encoding":
    case "Filter":
      return countOf(issue.issue)
    default:
      return 1
  }
}

/** The form with the fewest missing or unexpected members, then with the fewest issues. */
const closest = (forms: Arr.NonEmptyReadonlyArray<Issue>): Issue => {
  const ranked = Arr.map(forms, (form) => ({ form, foreign: own(form).filter(isForeign).length, all: countOf(form) }))
  const best = Arr.min(
    ranked,
    Order.combine(
      Order.mapInput(Order.Number, ({ foreign }: (typeof ranked)[number]) => foreign),
      Order.mapInput(Order.Number, ({ all }) => all),
    ),
  )
  const equals = ranked.filter(({ all, foreign }) => foreign === best.foreign && all === best.all)
  return equals.length === 1
    ? best.form
    : undecided(
        best.form,
        equals.map(({ form }) => form),
      )
}

/** Merges the issues of equally close forms into one per kind. */
const undecided = (first: Issue, forms: ReadonlyArray<Issue>): Issue => {
  if (first._tag !== "Composite") return first
  for (const [kind, text] of [
    ["MissingKey", "Missing key, one of"],
    ["UnexpectedKey", "Expected only one of"],
  ] as const) {
    const keys = forms.map((form) => keysOf(form, kind))
    const shared = keys.reduce((a, b) => a.intersection(b))
    const each = keys.flatMap((set) => [...set.difference(shared)])
    if (new Set(each).size < 2) continue
    const rest = first.issues.filter((issue) => !each.some((key) => isAt(key)(issue)))
    const together = new SchemaIssue.InvalidValue({ message: `${text} ${each.map(String).toSorted().join(", ")}` })
    return new SchemaIssue.Composite(first.ast, [together, ...rest])
  }
  return first
}

const keysOf = (form: Issue, kind: "MissingKey" | "UnexpectedKey"): Set<PropertyKey> =>
  new Set(own(form).flatMap((issue) => (issue._tag === "Pointer" && isOf(issue, kind) ? issue.path : [])))
