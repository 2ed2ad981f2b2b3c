import { useState } from "preact/hooks"
import { type Mode, MODES } from "../../../domain/jobs/modes.ts"
import { TextField } from "../../shared/Field.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { useForm } from "../useForm.ts"
import { Problem, View } from "../View.tsx"
import { type AgentFields, checkAgent, NEW_AGENT } from "./forms.ts"
import { EffortChoice, ModeChoice } from "./ModeChoice.tsx"

type TextFields = Exclude<keyof AgentFields, "mode" | "effort">

const ROUNDS = MODES.adversarial.option

interface TextInput {
  readonly name: TextFields
  readonly label: string
  readonly hint: string
  readonly inputMode?: "numeric" | "decimal"
  readonly rows?: number
}

const DESCRIPTION: ReadonlyArray<TextInput> = [
  { name: "name", label: "Name", hint: "Need not be unique." },
  { name: "role", label: "Role (optional)", hint: "For example: a careful reviewer of contracts." },
  { name: "instructions", label: "Instructions (optional)", hint: "Apply to every task.", rows: 4 },
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
  const [fields, setFields] = useState(NEW_AGENT)
  const { busy, failure, run } = useAction()

  const { form, mistakes, submit } = useForm(
    () => checkAgent(fields),
    (settings) =>
      run(
        () => gateway.agents.create(settings),
        (agent) => {
          announce(`${agent.name} was created.`)
          location.hash = hrefOf({ view: "agent", id: agent.id })
        },
      ),
  )
  const input = ({ name, ...field }: TextInput) => (
    <TextField
      key={name}
      id={`agent-${name}`}
      {...field}
      required={name === "name"}
      mistake={mistakes[name]}
      value={fields[name]}
      onText={(text) => setFields((known) => ({ ...known, [name]: text }))}
    />
  )

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
