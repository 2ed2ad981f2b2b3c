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

  const input = ({ hint, label, mode, name }: (typeof TEXTS)[number]) => (
    <TextField
      key={name}
      id={`key-${name}`}
      label={label}
      hint={hint}
      inputMode={mode}
      mistake={mistakes[name]}
      value={fields[name]}
      onText={(text) => setFields((known) => ({ ...known, [name]: text }))}
    />
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
