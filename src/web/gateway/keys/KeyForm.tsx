import { useState } from "preact/hooks"
import { Role } from "../../../domain/access/roles.ts"
import { SelectField, TextField } from "../../shared/Field.tsx"
import { Leave } from "../Dialog.tsx"
import { useSession } from "../session/SessionContext.ts"
import type { Action } from "../useAction.ts"
import { useForm } from "../useForm.ts"
import { Problem } from "../View.tsx"
import { BudgetFieldset } from "./BudgetFieldset.tsx"
import { type CheckedKey, isLimitable, type KeyFields } from "./keyForm.ts"

const ROLES = {
  read: "read: see agents, jobs and statistics",
  run: "run: also give tasks",
  manage: "manage: also change agents and keys",
  admin: "admin: also change routing, read the audit trail",
} as const satisfies Record<Role, string>

interface TextInput {
  readonly name: Exclude<keyof KeyFields, "role" | "budgets">
  readonly label: string
  readonly hint?: string
}

const NAME: TextInput = { name: "name", label: "Name", hint: "The program or person that gets it." }

/** Of keys that cannot manage. */
const LIMITS: ReadonlyArray<TextInput> = [
  { name: "models", label: "Only these models (optional)", hint: "Such as *mini*, gpt-6-sol." },
  { name: "denied", label: "Not these models (optional)", hint: "Even if they are above." },
  { name: "agents", label: "Only these agents (optional)", hint: "Their ids, separated by commas." },
]

const NUMBERS: ReadonlyArray<TextInput> = [
  { name: "rate", label: "Requests per minute (optional)" },
  {
    name: "weight",
    label: "Weight (optional)",
    hint: "With 3, three of its jobs begin for each job of a key without a weight.",
  },
  { name: "jobs", label: "Running jobs at most (optional)", hint: "Its other jobs wait." },
  { name: "calls", label: "Calls in flight at most (optional)", hint: "Further calls of models are refused." },
  { name: "days", label: "Days until it expires (optional)" },
]

/** Only administrators may give the role `admin`. */
const RoleField = ({ onChange, role }: { readonly role: Role; readonly onChange: (role: Role) => void }) => {
  const { owner } = useSession()
  return (
    <SelectField
      id="key-role"
      label="Role"
      hint="Keys that manage have no budgets and use all models."
      value={role}
      options={Role.literals.flatMap((name) => (name === "admin" && !owner.admin ? [] : [[name, ROLES[name]]]))}
      onChange={onChange}
    />
  )
}

interface KeyFormProps<A, B> {
  readonly action: Action
  readonly given: KeyFields
  readonly verb: string
  readonly busyText: string
  /** `now` is in milliseconds since the epoch. */
  readonly check: (fields: KeyFields, now: number) => CheckedKey<A>
  readonly save: (value: A) => Promise<B>
  readonly onCancel: () => void
  readonly onSaved: (saved: B) => void
}

export const KeyForm = <A, B>(props: KeyFormProps<A, B>) => {
  const { action, busyText, check, given, onCancel, onSaved, save, verb } = props
  const { busy, failure, run } = action
  const [fields, setFields] = useState(given)

  const { form, mistakes, submit } = useForm(
    () => check(fields, Date.now()),
    (value) => run(() => save(value), onSaved),
  )

  const inputWith = (inputMode: "text" | "numeric") => (text: TextInput) => (
    <TextField
      key={text.name}
      id={`key-${text.name}`}
      {...text}
      inputMode={inputMode}
      mistake={mistakes[text.name]}
      value={fields[text.name]}
      onText={(written) => setFields((known) => ({ ...known, [text.name]: written }))}
    />
  )

  return (
    <form ref={form} class="stack" noValidate onSubmit={submit}>
      {inputWith("text")(NAME)}
      <RoleField role={fields.role} onChange={(role) => setFields((known) => ({ ...known, role }))} />
      {isLimitable(fields.role) && (
        <BudgetFieldset
          budgets={fields.budgets}
          mistake={mistakes.budgets}
          onChange={(budgets) => setFields((known) => ({ ...known, budgets }))}
        />
      )}
      <div class="columns">
        {isLimitable(fields.role) && LIMITS.map(inputWith("text"))}
        {NUMBERS.map(inputWith("numeric"))}
      </div>
      {failure !== undefined && <Problem failure={failure} />}
      <div class="row end">
        <Leave busy={busy} onLeave={onCancel}>
          Cancel
        </Leave>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? busyText : verb}
        </button>
      </div>
    </form>
  )
}
