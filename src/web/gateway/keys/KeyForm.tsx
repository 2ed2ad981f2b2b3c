import { useRef, useState } from "preact/hooks"
import { Role } from "../../../domain/access/roles.ts"
import { Field, fieldProps, focusMistake } from "../../shared/Field.tsx"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem } from "../View.tsx"
import { BudgetFieldset } from "./BudgetFieldset.tsx"
import { type CheckedKey, isLimitable, type KeyFields, type KeyMistakes } from "./keyForm.ts"

const ROLES = {
  read: "read: see agents, jobs and statistics",
  run: "run: also give tasks",
  manage: "manage: also change agents and keys",
  admin: "admin: also change routing, read the audit trail",
} as const satisfies Record<Role, string>

const TEXTS = [
  { name: "name", label: "Name", hint: "The program or person that gets it.", mode: "text", limits: false },
  {
    name: "models",
    label: "Only these models (optional)",
    hint: "Such as *mini*, gpt-6-sol.",
    mode: "text",
    limits: true,
  },
  { name: "denied", label: "Not these models (optional)", hint: "Even if they are above.", mode: "text", limits: true },
  {
    name: "agents",
    label: "Only these agents (optional)",
    hint: "Their ids, separated by commas.",
    mode: "text",
    limits: true,
  },
  { name: "rate", label: "Requests per minute (optional)", hint: "", mode: "numeric", limits: false },
  {
    name: "weight",
    label: "Weight (optional)",
    hint: "With 3, three of its jobs begin for each job of a key without a weight.",
    mode: "numeric",
    limits: false,
  },
  {
    name: "jobs",
    label: "Running jobs at most (optional)",
    hint: "Its other jobs wait.",
    mode: "numeric",
    limits: false,
  },
  {
    name: "calls",
    label: "Calls in flight at most (optional)",
    hint: "Further calls of models are refused.",
    mode: "numeric",
    limits: false,
  },
  { name: "days", label: "Days until it expires (optional)", hint: "", mode: "numeric", limits: false },
] as const

/** Administrators alone may give the role `admin`. */
const RoleField = ({ onChange, role }: { readonly role: Role; readonly onChange: (role: Role) => void }) => {
  const { owner } = useSession()
  return (
    <Field id="key-role" label="Role" hint="Keys that manage have no budgets and use all models.">
      <select
        {...fieldProps("key-role", undefined)}
        value={role}
        onChange={(event) => {
          const chosen = Role.literals.find((name) => name === event.currentTarget.value)
          if (chosen !== undefined) onChange(chosen)
        }}
      >
        {Role.literals
          .filter((name) => name !== "admin" || owner.admin)
          .map((name) => (
            <option key={name} value={name}>
              {ROLES[name]}
            </option>
          ))}
      </select>
    </Field>
  )
}

interface KeyFormProps<A, B> {
  readonly given: KeyFields
  readonly verb: string
  readonly busyText: string
  /** `now` is in milliseconds since the epoch. */
  readonly check: (fields: KeyFields, now: number) => CheckedKey<A>
  readonly save: (value: A) => Promise<B>
  readonly onCancel: () => void
  readonly onSaved: (saved: B) => void
}

/** The form of a key. */
export const KeyForm = <A, B>({ busyText, check, given, onCancel, onSaved, save, verb }: KeyFormProps<A, B>) => {
  const form = useRef<HTMLFormElement>(null)
  const [fields, setFields] = useState(given)
  const [mistakes, setMistakes] = useState<KeyMistakes>({})
  const { busy, failure, run } = useAction()

  const submit = (event: Event) => {
    event.preventDefault()
    const checked = check(fields, Date.now())
    setMistakes("mistakes" in checked ? checked.mistakes : {})
    if ("mistakes" in checked) return form.current !== null && focusMistake(form.current)
    run(() => save(checked.value), onSaved)
  }

  const input = ({ hint, label, mode, name }: (typeof TEXTS)[number]) => (
    <Field key={name} id={`key-${name}`} label={label} hint={hint} mistake={mistakes[name]}>
      <input
        type="text"
        inputMode={mode}
        autocomplete="off"
        {...fieldProps(`key-${name}`, mistakes[name])}
        value={fields[name]}
        onInput={(event) => {
          const { value } = event.currentTarget
          setFields((known) => ({ ...known, [name]: value }))
        }}
      />
    </Field>
  )

  return (
    <form ref={form} class="stack" noValidate onSubmit={submit}>
      {TEXTS.slice(0, 1).map(input)}
      <RoleField role={fields.role} onChange={(role) => setFields((known) => ({ ...known, role }))} />
      {isLimitable(fields.role) && (
        <BudgetFieldset
          budgets={fields.budgets}
          mistake={mistakes.budgets}
          onChange={(budgets) => setFields((known) => ({ ...known, budgets }))}
        />
      )}
      <div class="columns">
        {TEXTS.slice(1)
          .filter(({ limits }) => !limits || isLimitable(fields.role))
          .map(input)}
      </div>
      {failure !== undefined && <Problem failure={failure} />}
      <div class="row end">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? busyText : verb}
        </button>
      </div>
    </form>
  )
}
