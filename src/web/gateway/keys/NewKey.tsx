import { useRef, useState } from "preact/hooks"
import type { NewKey as CreatedKey } from "../../../client/gateway/GatewayKeys.ts"
import { Role } from "../../../domain/access/roles.ts"
import { CopyableId } from "../../shared/Copy.tsx"
import { Field, fieldProps, focusMistake } from "../../shared/Field.tsx"
import { Dialog } from "../Dialog.tsx"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem } from "../View.tsx"
import { BudgetFieldset } from "./BudgetFieldset.tsx"
import { checkKey, isLimitable, type KeyMistakes, NEW_KEY } from "./keyForm.ts"

const ROLES = {
  read: "read: see agents, jobs and statistics",
  run: "run: also give tasks",
  manage: "manage: also change agents and keys",
  admin: "admin: also change routing, read the audit trail",
} as const satisfies Record<Role, string>

/** Shows a new key's secret, which only this dialog has. */
const Secret = ({ created, onDone }: { readonly created: CreatedKey; readonly onDone: () => void }) => (
  <>
    <p>
      Store it now: it is shown only this once. Its holder sends it as a bearer token, or puts it into{" "}
      <code>SEALGATE_TOKEN</code>.
    </p>
    <p class="note">
      <CopyableId id={created.key} what="key" />
    </p>
    <div class="row end">
      <button type="button" class="primary" onClick={onDone}>
        I stored it
      </button>
    </div>
  </>
)

const TEXTS = [
  { name: "name", label: "Name", hint: "The program or person that gets it.", mode: "text", limits: false },
  {
    name: "models",
    label: "Only these models (optional)",
    hint: "Such as *mini*, gpt-6-sol.",
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

/** The form of a new key; administrators alone may give the role `admin`. */
const KeyForm = ({ onCancel, onCreated }: { onCancel: () => void; onCreated: (created: CreatedKey) => void }) => {
  const { gateway, owner } = useSession()
  const form = useRef<HTMLFormElement>(null)
  const [fields, setFields] = useState(NEW_KEY)
  const [mistakes, setMistakes] = useState<KeyMistakes>({})
  const { busy, failure, run } = useAction()

  const submit = (event: Event) => {
    event.preventDefault()
    const checked = checkKey(fields, Date.now())
    setMistakes("mistakes" in checked ? checked.mistakes : {})
    if ("mistakes" in checked) return form.current !== null && focusMistake(form.current)
    run(() => gateway.keys.create(checked.value), onCreated)
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
      <Field id="key-role" label="Role" hint="Keys that manage have no budgets and use all models.">
        <select
          {...fieldProps("key-role", undefined)}
          value={fields.role}
          onChange={(event) => {
            const role = Role.literals.find((name) => name === event.currentTarget.value)
            if (role !== undefined) setFields((known) => ({ ...known, role }))
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
          {busy ? "Creating…" : "Create key"}
        </button>
      </div>
    </form>
  )
}

/** Creates a key and shows its secret once. Escape does not close the dialog while it shows the secret. */
export const NewKey = ({ onClose }: { readonly onClose: (created: boolean) => void }) => {
  const { announce } = useSession()
  const [created, setCreated] = useState<CreatedKey>()
  return (
    <Dialog
      title={created === undefined ? "New key" : `The key of ${created.name}`}
      stays={created !== undefined}
      onClose={() => onClose(created !== undefined)}
    >
      {(close) =>
        created === undefined ? (
          <KeyForm
            onCancel={close}
            onCreated={(key) => {
              announce(`The key of ${key.name} was created. It is shown once.`)
              setCreated(key)
            }}
          />
        ) : (
          <Secret created={created} onDone={close} />
        )
      }
    </Dialog>
  )
}
