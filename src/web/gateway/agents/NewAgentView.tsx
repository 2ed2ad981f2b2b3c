import { useRef, useState } from "preact/hooks"
import { type Mode, MODES } from "../../../domain/jobs/modes.ts"
import { Field, fieldProps, focusMistake } from "../../shared/Field.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem, View } from "../View.tsx"
import { type AgentFields, checkAgent, NEW_AGENT } from "./forms.ts"
import { EffortChoice, ModeChoice } from "./ModeChoice.tsx"

type TextFields = Exclude<keyof AgentFields, "mode" | "effort">

const ROUNDS = MODES.adversarial.option

interface TextInput {
  readonly name: TextFields
  readonly label: string
  readonly hint: string
  readonly inputMode?: "text" | "numeric" | "decimal"
}

const DESCRIPTION: ReadonlyArray<TextInput> = [
  { name: "name", label: "Name", hint: "Need not be unique." },
  { name: "role", label: "Role (optional)", hint: "For example: a careful reviewer of contracts." },
  { name: "instructions", label: "Instructions (optional)", hint: "Apply to every task." },
]

const LIMITS: ReadonlyArray<TextInput> = [
  { name: "rounds", label: "Rounds of debate", hint: `${ROUNDS.minimum} to ${ROUNDS.maximum}`, inputMode: "numeric" },
  { name: "timeout", label: "Working time, seconds", hint: "Waiting does not count.", inputMode: "numeric" },
  {
    name: "cost",
    label: "Cost, US dollars (optional)",
    hint: "For example 0.50. Excludes models without a price.",
    inputMode: "decimal",
  },
  { name: "tokens", label: "Tokens (optional)", hint: "Input and output together.", inputMode: "numeric" },
  { name: "calls", label: "Calls of models (optional)", hint: "Includes failed calls.", inputMode: "numeric" },
]

export const NewAgentView = () => {
  const { announce, gateway } = useSession()
  const form = useRef<HTMLFormElement>(null)
  const [fields, setFields] = useState(NEW_AGENT)
  const [mistakes, setMistakes] = useState<Partial<Record<keyof AgentFields, string>>>({})
  const { busy, failure, run } = useAction()

  const submit = (event: Event) => {
    event.preventDefault()
    const checked = checkAgent(fields)
    setMistakes(checked.ok ? {} : checked.mistakes)
    if (!checked.ok) return form.current !== null && focusMistake(form.current)
    run(
      () => gateway.agents.create(checked.value),
      (agent) => {
        announce(`${agent.name} was created.`)
        location.hash = hrefOf({ view: "agent", id: agent.id })
      },
    )
  }
  const input = ({ hint, inputMode = "text", label, name }: TextInput) => {
    const id = `agent-${name}`
    const props = {
      ...fieldProps(id, mistakes[name]),
      value: fields[name],
      autocomplete: "off",
      onInput: (event: { readonly currentTarget: { readonly value: string } }) => {
        const { value } = event.currentTarget
        setFields((known) => ({ ...known, [name]: value }))
      },
    }
    return (
      <Field key={name} id={id} label={label} hint={hint} mistake={mistakes[name]}>
        {name === "instructions" ? (
          <textarea rows={4} {...props} />
        ) : (
          <input type="text" inputMode={inputMode} required={name === "name"} {...props} />
        )}
      </Field>
    )
  }

  return (
    <View title="New agent">
      <form ref={form} class="card stack narrow" noValidate onSubmit={submit}>
        {DESCRIPTION.map(input)}
        <ModeChoice
          name="agent-mode"
          legend="Default mode of its tasks"
          value={fields.mode}
          onChange={(mode: Mode) => setFields((known) => ({ ...known, mode }))}
        />
        <EffortChoice
          id="agent-effort"
          value={fields.effort}
          onChange={(effort) => setFields((known) => ({ ...known, effort }))}
        />
        <fieldset class="stack">
          <legend>Limits of one job</legend>
          <div class="columns">{LIMITS.map(input)}</div>
        </fieldset>
        {failure !== undefined && <Problem failure={failure} />}
        <div class="row">
          <button type="submit" class="primary" aria-disabled={busy}>
            {busy ? "Creating…" : "Create agent"}
          </button>
          <a class="button" href={hrefOf({ view: "agents" })}>
            Cancel
          </a>
        </div>
      </form>
    </View>
  )
}
